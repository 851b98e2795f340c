#include "train/metrics.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>

#include "base/error.h"
#include "io/file.h"

namespace lemnos::train {
namespace {

std::filesystem::path metrics_file(const std::filesystem::path& run_folder) { return run_folder / "metrics.jsonl"; }

}  // namespace

void append_metrics(const std::filesystem::path& run_folder, const Json& row) {
  const std::filesystem::path path = metrics_file(run_folder);
  const std::string line = row.dump() + "\n";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "ab"), std::fclose);
  if (file == nullptr || std::fwrite(line.data(), 1, line.size(), file.get()) != line.size() || std::fflush(file.get()) != 0)
    fail_io("append to", path, errno);
}

void restart_metrics(const std::filesystem::path& run_folder, int64_t step) {
  const std::filesystem::path path = metrics_file(run_folder);
  std::string kept;
  if (step > 0 && std::filesystem::exists(path)) {
    std::istringstream lines(read_file(path));
    for (std::string line; std::getline(lines, line);) {
      // The last line of a killed run may be cut; it is logged again.
      if (line.empty() || line.back() != '}') continue;
      const Json row = Json::parse(line, path.string());
      if (row.at("step").as_integer() <= step) kept += line + "\n";
    }
  }
  write_file_atomic(path, kept);
}

}  // namespace lemnos::train

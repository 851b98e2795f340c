#include "train/run_files.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "io/atomic_dir.h"
#include "io/file.h"
#include "train/weights.h"

namespace lemnos::train {
namespace {

/// Files that belong to the tokenizer or to generation, copied as they are when the model has them.
constexpr const char* kCopied[] = {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                                   "added_tokens.json", "tokenizer.model", "vocab.json", "merges.txt",
                                   "chat_template.jinja", "generation_config.json"};

void copy_side_files(const std::filesystem::path& from, const std::filesystem::path& to, bool adapter) {
  for (const char* name : kCopied) {
    if (adapter && std::string_view(name) == "generation_config.json") continue;
    if (std::filesystem::exists(from / name)) write_file_atomic(to / name, read_file(from / name));
  }
}

/// config.json as it was read, with the dtype that the weights now have.
std::string config_text(const ModelConfig& model) {
  Json config = model.json;
  for (const char* key : {"dtype", "torch_dtype"})
    if (config.contains(key)) config.set(key, "float32");
  Json architectures = Json::array();
  architectures.push_back(model.family->architecture);
  if (!config.contains("architectures")) config.set("architectures", std::move(architectures));
  return config.dump(2) + "\n";
}

}  // namespace

void write_model_files(const std::filesystem::path& folder, Engine& engine, const RunIdentity& identity) {
  const bool adapter = identity.adapter.has_value();
  write_checkpoint(folder, tensor_sources(engine.storage(), engine.graph(), identity.model, adapter),
                   {.stem = adapter ? "adapter_model" : "model"});
  if (!identity.model_folder.empty()) copy_side_files(identity.model_folder, folder, adapter);
  if (adapter)
    write_file_atomic(folder / "adapter_config.json", adapter_config_json(*identity.adapter).dump(2) + "\n");
  else
    write_file_atomic(folder / "config.json", config_text(identity.model));
}

void publish_model_files(const std::filesystem::path& run_folder, Engine& engine, const RunIdentity& identity) {
  const std::filesystem::path stage = run_folder / ".final.partial";
  with_io_errors([&] {
    std::filesystem::remove_all(stage);
    std::filesystem::create_directories(stage);
    try {
      write_model_files(stage, engine, identity);
    } catch (...) {
      std::error_code unknown;
      std::filesystem::remove_all(stage, unknown);
      throw;
    }
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(stage)) files.push_back(entry.path().filename());
    // The config is what makes a folder loadable, so it goes last.
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
      const auto rank = [](const std::filesystem::path& p) { return p.string().ends_with("config.json") ? 1 : 0; };
      return std::pair(rank(a), a) < std::pair(rank(b), b);
    });
    for (const auto& file : files) {
      sync_path(stage / file);
      std::filesystem::rename(stage / file, run_folder / file);
    }
    std::filesystem::remove_all(stage);
    sync_path(run_folder);
  });
}

}  // namespace lemnos::train

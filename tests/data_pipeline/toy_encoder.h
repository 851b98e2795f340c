#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "data/encoder.h"

namespace lemnos::data {

/// Letters are ids from 10 on, the pair ".m" merges to 40, "<s>" and "</s>" in the text are the
/// special tokens 1 and 2 as in real tokenizers, and "^" is an id outside of the embedding.
struct ToyEncoder final : Encoder {
  ToyEncoder() {
    bos_id = 1;
    eos_id = 2;
    vocabulary_rows = 48;
  }
  bool adds_bos = true;
  bool adds_eos = false;

  std::vector<int32_t> encode(std::string_view text, bool add_special_tokens) const override {
    static const std::pair<std::string_view, int32_t> kPieces[] = {
        {"<s>", 1}, {"</s>", 2}, {".m", 40}, {".", 41}, {" ", 42}, {"^", 60}};
    std::vector<int32_t> ids;
    if (add_special_tokens && adds_bos) ids.push_back(*bos_id);
    while (!text.empty()) {
      const auto piece =
          std::find_if(std::begin(kPieces), std::end(kPieces),
                       [&](const auto& candidate) { return text.starts_with(candidate.first); });
      const bool found = piece != std::end(kPieces);
      ids.push_back(found ? piece->second : 10 + text[0] - 'a');
      text.remove_prefix(found ? piece->first.size() : 1);
    }
    if (add_special_tokens && adds_eos) ids.push_back(2);
    return ids;
  }
};

/// A folder that is removed at the end of the test.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("lemnos_" + name + "_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  /// Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lemnos::data

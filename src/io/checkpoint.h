#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.h"

namespace lemnos {

/// The weights of a Hugging Face folder: one safetensors file, or an index and its shards. The
/// index is an allow-list both ways: a tensor or shard it names must be there, a tensor of its
/// shards that it does not name is an error, and shards it does not name are left alone (with a
/// note).
class Checkpoint {
 public:
  /// `<stem>.safetensors`, else `<stem>.safetensors.index.json`. Throws Error{io} when there are no
  /// weights, Error{unsupported} when there are only pickled ones, Error{corrupt_input}.
  static Checkpoint open(const std::filesystem::path& folder, std::string_view stem = "model");
  /// The weights of a PEFT adapter.
  static Checkpoint open_adapter(const std::filesystem::path& folder) {
    return open(folder, "adapter_model");
  }

  /// Sorted.
  std::vector<std::string_view> names() const;
  bool contains(std::string_view name) const { return tensors_.contains(name); }
  /// Error{corrupt_input} naming the folder and the tensor when there is none.
  const TensorView& view(std::string_view name) const;
  const std::filesystem::path& folder() const { return folder_; }
  /// Of every tensor's name, dtype, shape and bytes, however they are spread over files. Reads it all.
  uint64_t fingerprint() const;
  /// What was passed over, one sentence each, for the user.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void load(std::string_view stem);
  void note_or_refuse_index(const std::filesystem::path& index,
                            const std::filesystem::path& single);
  void add_single(const std::filesystem::path& file);
  void add_indexed(const std::filesystem::path& index, std::string_view stem);

  std::filesystem::path folder_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string_view, const TensorView*> tensors_;
  std::vector<std::string> notes_;
};

}  // namespace lemnos

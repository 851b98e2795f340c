#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace lemnos {

/// `model.safetensors.index.json`: which file of the folder holds which tensor.
struct CheckpointIndex {
  /// File name -> the tensors it must hold.
  std::map<std::string, std::set<std::string, std::less<>>> shards;

  /// Throws Error{io, corrupt_input}; a shard name with a folder in it is refused.
  static CheckpointIndex read(const std::filesystem::path& file);

  std::vector<std::string> missing_shards(const std::filesystem::path& folder) const;
};

/// "a", "b", "c" and 4 more
std::string name_some(const std::vector<std::string>& names);

}  // namespace lemnos

#include "io/checkpoint_index.h"

#include "base/error.h"
#include "base/json.h"
#include "io/file.h"

namespace lemnos {

CheckpointIndex CheckpointIndex::read(const std::filesystem::path& file) {
  const std::string source = file.string();
  const Json json = Json::parse(read_file(file), source);
  const Json* map = json.find("weight_map");
  if (map == nullptr || !map->is_object() || map->as_object().empty())
    fail(ErrorKind::corrupt_input,
         "{}: expected \"weight_map\", an object from tensor to file name", source);
  CheckpointIndex index;
  for (const auto& [tensor, shard] : map->as_object()) {
    const std::string name = shard.is_string() ? shard.as_string() : std::string();
    if (name.empty() || std::filesystem::path(name).filename() != name || name == "..")
      fail(ErrorKind::corrupt_input,
           "{}: tensor \"{}\" is mapped to {}; expected the name of a file in the same folder",
           source, tensor, shard.dump());
    index.shards[name].insert(tensor);
  }
  return index;
}

std::vector<std::string> CheckpointIndex::missing_shards(
    const std::filesystem::path& folder) const {
  std::vector<std::string> missing;
  for (const auto& [shard, tensors] : shards)
    if (!std::filesystem::exists(folder / shard)) missing.push_back(shard);
  return missing;
}

std::string name_some(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i)
    text += format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  if (names.size() > kShown) text += format(" and {} more", names.size() - kShown);
  return text;
}

}  // namespace lemnos

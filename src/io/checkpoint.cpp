#include "io/checkpoint.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/plural.h"
#include "io/checkpoint_index.h"
#include "io/completion_marker.h"

namespace lemnos {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string, std::less<>>;

[[noreturn]] void refuse_without_weights(const fs::path& folder, std::string_view stem) {
  if (!fs::is_directory(folder))
    fail(ErrorKind::io, "{}: there is no such folder", folder.string());
  const std::string pickled = stem == "model" ? "pytorch_model.bin" : format("{}.bin", stem);
  for (const std::string& name : {pickled, pickled + ".index.json"})
    if (fs::exists(folder / name))
      fail(ErrorKind::unsupported,
           "{}: the weights are only there as {}, a Python pickle, which can run code when read; "
           "load "
           "the model in Transformers and save it again with save_pretrained to get safetensors",
           folder.string(), name);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".gguf")
      fail(ErrorKind::unsupported, "{}: GGUF files such as {} are not read; use the model's safetensors", folder.string(),
           entry.path().filename().string());
  fail(ErrorKind::io, "{}: found neither {}.safetensors nor {}.safetensors.index.json",
       folder.string(), stem, stem);
}

void check_shard(const SafetensorsFile& file, const Names& expected, const fs::path& index_file) {
  std::vector<std::string> lacking, unlisted;
  for (const std::string& name : expected)
    if (file.find(name) == nullptr) lacking.push_back(name);
  for (const TensorView& tensor : file.tensors())
    if (!expected.contains(tensor.name)) unlisted.emplace_back(tensor.name);
  if (!lacking.empty())
    fail(ErrorKind::corrupt_input, "{}: lacks {} that the index {} places here: {}", file.path().string(),
         counted(static_cast<int64_t>(lacking.size()), "tensor"), index_file.filename().string(), name_some(lacking));
  if (!unlisted.empty())
    fail(ErrorKind::corrupt_input,
         "{}: holds {} that the index {} does not place here: {}; the index and the shards "
         "are "
         "of different versions, fetch or save them again",
         file.path().string(), counted(static_cast<int64_t>(unlisted.size()), "tensor"), index_file.filename().string(),
         name_some(unlisted));
}

/// Weight files of the folder that nothing names.
std::vector<std::string> leftover_files(const fs::path& folder, std::string_view stem,
                                        const CheckpointIndex& index) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(stem) && name.ends_with(".safetensors") && !index.shards.contains(name))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& folder, std::string_view stem) {
  return with_io_errors([&] {
    Checkpoint result;
    result.folder_ = folder;
    result.load(stem);
    return result;
  });
}

void Checkpoint::load(std::string_view stem) {
  const fs::path single = folder_ / format("{}.safetensors", stem);
  const fs::path index = folder_ / format("{}.safetensors.index.json", stem);
  if (fs::exists(single)) {
    if (fs::exists(index)) note_or_refuse_index(index, single);
    add_single(single);
  } else if (fs::exists(index)) {
    add_indexed(index, stem);
  } else {
    refuse_without_weights(folder_, stem);
  }
}

void Checkpoint::note_or_refuse_index(const fs::path& index, const fs::path& single) {
  if (CheckpointIndex::read(index).missing_shards(folder_).empty())
    fail(ErrorKind::corrupt_input,
         "{}: holds both {} and a complete set of shards ({}); remove the one that is out of date",
         folder_.string(), single.filename().string(), index.filename().string());
  notes_.push_back(
      format("{}: ignored, left over from an older save whose shards are gone", index.string()));
}

void Checkpoint::add_single(const fs::path& file) {
  files_.push_back(SafetensorsFile::open(file));
  for (const TensorView& tensor : files_.back().tensors()) tensors_.emplace(tensor.name, &tensor);
}

void Checkpoint::add_indexed(const fs::path& file, std::string_view stem) {
  const CheckpointIndex index = CheckpointIndex::read(file);
  if (const auto missing = index.missing_shards(folder_); !missing.empty())
    fail(ErrorKind::corrupt_input, "{}: {} of {} shards are missing from the folder: {}",
         file.string(), missing.size(), index.shards.size(), name_some(missing));
  for (const auto& [shard, expected] : index.shards) {
    files_.push_back(SafetensorsFile::open(folder_ / shard));
    check_shard(files_.back(), expected, file);
  }
  for (const SafetensorsFile& opened : files_)
    for (const TensorView& tensor : opened.tensors()) tensors_.emplace(tensor.name, &tensor);
  if (const auto leftover = leftover_files(folder_, stem, index); !leftover.empty())
    notes_.push_back(format("{}: ignored, because the index does not name them: {}",
                            folder_.string(), name_some(leftover)));
}

std::vector<std::string_view> Checkpoint::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

const TensorView& Checkpoint::view(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    fail(ErrorKind::corrupt_input, "{}: there is no tensor \"{}\" among its {} tensors",
         folder_.string(), name, tensors_.size());
  return *found->second;
}

uint64_t Checkpoint::fingerprint() const {
  std::string text;
  for (const auto& [name, view] : tensors_) {
    text += format("{} {}", name, dtype_name(view->dtype));
    for (const int64_t size : view->shape) text += format(" {}", size);
    text += format(" {:016x}\n", checksum(view->bytes));
  }
  return checksum(std::as_bytes(std::span(text)));
}

}  // namespace lemnos

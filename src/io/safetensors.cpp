#include "io/safetensors.h"

#include <utility>

#include "base/format.h"
#include "io/safetensors_header.h"

namespace lemnos {

int64_t TensorView::elements() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + "]";
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile result(std::make_unique<MappedFile>(path));
  const auto bytes = result.file_->bytes();
  SafetensorsHeader header = parse_safetensors_header(bytes, path.string());
  result.metadata_ = std::move(header.metadata);
  const auto data = bytes.subspan(header.data_offset);
  for (TensorInfo& info : header.tensors) {
    result.names_.push_back(std::make_unique<std::string>(std::move(info.name)));
    const std::string_view name = *result.names_.back();
    result.index_.emplace(name, result.tensors_.size());
    result.tensors_.push_back(
        {name, info.dtype, std::move(info.shape), data.subspan(info.begin, info.end - info.begin)});
  }
  return result;
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace lemnos

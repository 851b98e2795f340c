#include "io/safetensors_writer.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"

namespace lemnos {
namespace {

std::vector<TensorInfo> lay_out(const std::vector<TensorPlan>& tensors, const std::string& source) {
  std::vector<TensorInfo> order;
  for (const TensorPlan& plan : tensors) order.push_back({plan.name, plan.dtype, plan.shape, 0, 0});
  std::sort(order.begin(), order.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return a.dtype != b.dtype ? a.dtype > b.dtype : a.name < b.name;
  });
  uint64_t position = 0;
  for (TensorInfo& tensor : order) {
    tensor.begin = position;
    position += tensor_bytes(tensor.dtype, tensor.shape, source + ": tensor " + tensor.name);
    tensor.end = position;
  }
  return order;
}

Json header_entry(const TensorInfo& tensor) {
  Json shape = Json::array();
  for (const int64_t size : tensor.shape) shape.push_back(size);
  Json offsets = Json::array();
  offsets.push_back(tensor.begin);
  offsets.push_back(tensor.end);
  return Json(Json::Object{
      {"dtype", dtype_name(tensor.dtype)}, {"shape", shape}, {"data_offsets", offsets}});
}

std::string header_text(const std::vector<TensorInfo>& order, const TextMap& metadata) {
  Json::Object header;
  if (!metadata.empty()) {
    Json::Object texts;
    for (const auto& [key, text] : metadata) texts.emplace_back(key, text);
    header.emplace_back("__metadata__", std::move(texts));
  }
  for (const TensorInfo& tensor : order) header.emplace_back(tensor.name, header_entry(tensor));
  std::string text = Json(std::move(header)).dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     const std::vector<TensorPlan>& tensors,
                                     const TextMap& metadata)
    : file_(path), order_(lay_out(tensors, path.string())) {
  const std::string header = header_text(order_, metadata);
  if (header.size() > kMaxHeaderBytes)
    fail(ErrorKind::unsupported, "{}: {} tensors need a header of {} bytes, the format allows {}",
         path.string(), tensors.size(), header.size(), kMaxHeaderBytes);
  const uint64_t length = header.size();
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(header);
  expected_size_ = file_.size() + (order_.empty() ? 0 : order_.back().end);
}

void SafetensorsWriter::finish() {
  LEMNOS_CHECK(file_.size() == expected_size_, "{}: {} bytes written of {}", file_.path().string(),
               file_.size(), expected_size_);
  file_.sync();
  file_.close();
}

}  // namespace lemnos

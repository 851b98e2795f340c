#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "io/safetensors_header.h"

namespace lemnos {

/// One tensor to be written.
struct TensorPlan {
  std::string name;
  FileDType dtype = FileDType::F32;
  std::vector<int64_t> shape;
};

using TextMap = std::map<std::string, std::string>;

/// Writes one safetensors file byte for byte as the Python library does: tensors by dtype (widest
/// first) and then name, a header padded to 8 bytes. The header goes out at once; then the bytes of
/// each tensor of `order()` are appended, in as many pieces as suits their source.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::filesystem::path& path, const std::vector<TensorPlan>& tensors,
                    const TextMap& metadata = {{"format", "pt"}});

  /// Sorted by offset.
  const std::vector<TensorInfo>& order() const { return order_; }
  /// The next bytes, little-endian.
  void append(std::span<const std::byte> bytes) { file_.write(bytes); }
  /// Checks that every byte came, then fsync and close.
  void finish();

 private:
  FileWriter file_;
  std::vector<TensorInfo> order_;
  uint64_t expected_size_ = 0;
};

}  // namespace lemnos

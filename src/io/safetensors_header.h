#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/file_dtype.h"

namespace lemnos {

/// The reference library reads and writes headers up to this size, inclusive.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct TensorInfo {
  std::string name;
  FileDType dtype = FileDType::F32;
  std::vector<int64_t> shape;
  /// Half open, counted from the end of the header.
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  /// Sorted by offset.
  std::vector<TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
  /// Where the first tensor's bytes start in the file.
  uint64_t data_offset = 0;
};

/// Reads and checks the header of a whole file's bytes; `source` names the file in errors, which
/// are all Error{corrupt_input}.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file,
                                           const std::string& source);

/// Bytes of a tensor; Error{corrupt_input} starting with `where` when that is beyond 64 bits or not
/// whole.
uint64_t tensor_bytes(FileDType dtype, std::span<const int64_t> shape, const std::string& where);

}  // namespace lemnos

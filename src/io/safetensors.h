#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/file.h"
#include "io/file_dtype.h"

namespace lemnos {

/// One tensor of an open file. Name and bytes live as long as the SafetensorsFile (or Checkpoint)
/// it came from; the bytes are little-endian and not necessarily aligned.
struct TensorView {
  std::string_view name;
  FileDType dtype = FileDType::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;

  int64_t elements() const;
};

/// "[2, 3]"; "[]" for a scalar.
std::string shape_text(std::span<const int64_t> shape);

/// A safetensors file, mapped; its header is checked as strictly as the reference library does
/// (sizes, offsets in order without hole or overlap, nothing after the last tensor), and duplicate
/// names are refused besides. Throws Error{io, corrupt_input}.
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::filesystem::path& path);

  /// In the order of their bytes.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  /// Null when there is no such tensor.
  const TensorView* find(std::string_view name) const;
  /// The texts of "__metadata__".
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return file_->path(); }

 private:
  explicit SafetensorsFile(std::unique_ptr<MappedFile> file) : file_(std::move(file)) {}

  std::unique_ptr<MappedFile> file_;
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<TensorView> tensors_;
  std::unordered_map<std::string_view, size_t> index_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace lemnos

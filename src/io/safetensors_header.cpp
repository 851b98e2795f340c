#include "io/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>

#include "base/error.h"
#include "base/json.h"

namespace lemnos {
namespace {

struct ForeignFormat {
  std::string_view start;
  const char* what;
};

/// What people rename to .safetensors, or get instead of it.
constexpr ForeignFormat kForeignFormats[] = {
    {"PK\x03\x04", "a zip archive (PyTorch's own .bin or .pt format, or a zipped folder)"},
    {"\x80\x02", "a Python pickle (an old PyTorch .bin)"},
    {"GGUF", "a GGUF file"},
    {"version https://git-lfs", "a Git LFS pointer, not the file itself (run `git lfs pull`)"},
    {"<!DOCTYPE", "a web page, not the file itself (download it again)"},
    {"<html", "a web page, not the file itself (download it again)"},
};

/// A real file may start with these bytes by chance (they are a plausible length), so it is asked
/// only once the length turned out impossible.
std::string impossible_because(std::string_view file) {
  for (const ForeignFormat& known : kForeignFormats)
    if (file.starts_with(known.start)) return format("it is {}", known.what);
  return "it is truncated, damaged, or not a safetensors file";
}

uint64_t header_bytes(std::string_view file, const std::string& source) {
  constexpr size_t kLengthBytes = 8;
  if (file.size() < kLengthBytes)
    fail(ErrorKind::corrupt_input, "{}: {} bytes are too few for a safetensors file: {}", source,
         file.size(), impossible_because(file));
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kMaxHeaderBytes)
    fail(ErrorKind::corrupt_input, "{}: the header claims {} bytes, the format allows {}: {}",
         source, length, kMaxHeaderBytes, impossible_because(file));
  if (length > file.size() - kLengthBytes)
    fail(ErrorKind::corrupt_input, "{}: the header claims {} bytes, the file has {}: {}", source,
         length, file.size() - kLengthBytes, impossible_because(file));
  return length;
}

const Json& field(const Json& tensor, std::string_view key, const std::string& where) {
  const Json* found = tensor.find(key);
  if (found == nullptr) fail(ErrorKind::corrupt_input, "{}: \"{}\" is missing", where, key);
  return *found;
}

int64_t natural_number(const Json& value, const char* what, const std::string& where) {
  if (!value.is_integer() || value.as_integer() < 0)
    fail(ErrorKind::corrupt_input, "{}: {} must be integers of 0 or more, found {}", where, what,
         value.dump());
  return value.as_integer();
}

const Json::Array& array_field(const Json& tensor, std::string_view key, const std::string& where) {
  const Json& value = field(tensor, key, where);
  if (!value.is_array())
    fail(ErrorKind::corrupt_input, "{}: \"{}\" must be an array, found {}", where, key,
         value.type_name());
  return value.as_array();
}

FileDType dtype_field(const Json& tensor, const std::string& where) {
  const Json& value = field(tensor, "dtype", where);
  const auto dtype = value.is_string() ? dtype_from_name(value.as_string()) : std::nullopt;
  if (!dtype) fail(ErrorKind::corrupt_input, "{}: the format has no dtype {}", where, value.dump());
  return *dtype;
}

TensorInfo read_tensor(const std::string& name, const Json& tensor, const std::string& source) {
  const std::string where = format("{}: tensor \"{}\"", source, name);
  if (!tensor.is_object())
    fail(ErrorKind::corrupt_input, "{}: expected an object in the header, found {}", where,
         tensor.type_name());
  TensorInfo info;
  info.name = name;
  info.dtype = dtype_field(tensor, where);
  for (const Json& size : array_field(tensor, "shape", where))
    info.shape.push_back(natural_number(size, "sizes of the shape", where));
  const Json::Array& offsets = array_field(tensor, "data_offsets", where);
  if (offsets.size() != 2)
    fail(ErrorKind::corrupt_input, "{}: \"data_offsets\" must have 2 entries, found {}", where,
         offsets.size());
  info.begin = static_cast<uint64_t>(natural_number(offsets[0], "data offsets", where));
  info.end = static_cast<uint64_t>(natural_number(offsets[1], "data offsets", where));
  return info;
}

std::map<std::string, std::string> read_metadata(const Json& value, const std::string& source) {
  std::map<std::string, std::string> metadata;
  if (value.is_null()) return metadata;
  if (!value.is_object())
    fail(ErrorKind::corrupt_input, "{}: \"__metadata__\" must be an object, found {}", source,
         value.type_name());
  for (const auto& [key, text] : value.as_object()) {
    if (!text.is_string())
      fail(ErrorKind::corrupt_input, "{}: the metadata \"{}\" must be a string, found {}", source,
           key, text.type_name());
    metadata.emplace(key, text.as_string());
  }
  return metadata;
}

/// The tensors must tile the data: each begins where the one before ends, the last ends the file.
void check_layout(const std::vector<TensorInfo>& tensors, uint64_t available,
                  const std::string& source) {
  uint64_t position = 0;
  for (const TensorInfo& tensor : tensors) {
    const std::string where = format("{}: tensor \"{}\"", source, tensor.name);
    if (tensor.begin != position || tensor.end < tensor.begin)
      fail(ErrorKind::corrupt_input, "{}: bytes {} to {} {}; expected to begin at {}", where,
           tensor.begin, tensor.end,
           tensor.begin < position ? "overlap the tensor before" : "leave a hole or run backwards",
           position);
    const uint64_t expected = tensor_bytes(tensor.dtype, tensor.shape, where);
    if (tensor.end - tensor.begin != expected)
      fail(ErrorKind::corrupt_input, "{}: its dtype and shape need {} bytes, its offsets give {}",
           where, expected, tensor.end - tensor.begin);
    position = tensor.end;
  }
  if (position > available)
    fail(ErrorKind::corrupt_input, "{}: truncated: the tensors need {} bytes, the file has {}",
         source, position, available);
  if (position < available)
    fail(ErrorKind::corrupt_input, "{}: {} bytes after the last tensor; the file is damaged",
         source, available - position);
}

}  // namespace

uint64_t tensor_bytes(FileDType dtype, std::span<const int64_t> shape, const std::string& where) {
  uint64_t bits = dtype_bits(dtype);
  for (const int64_t size : shape)
    if (__builtin_mul_overflow(bits, static_cast<uint64_t>(size), &bits))
      fail(ErrorKind::corrupt_input, "{}: the shape has more elements than 64 bits can count",
           where);
  if (bits % 8 != 0)
    fail(ErrorKind::corrupt_input, "{}: its {} elements do not fill whole bytes", where,
         dtype_name(dtype));
  return bits / 8;
}

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file,
                                           const std::string& source) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const uint64_t length = header_bytes(text, source);
  SafetensorsHeader header;
  header.data_offset = 8 + length;
  const Json json = Json::parse(text.substr(8, length), source + " (header)");
  if (!json.is_object())
    fail(ErrorKind::corrupt_input, "{}: the header must be a JSON object, found {}", source,
         json.type_name());
  for (const auto& [name, value] : json.as_object()) {
    if (name == "__metadata__")
      header.metadata = read_metadata(value, source);
    else
      header.tensors.push_back(read_tensor(name, value, source));
  }
  std::sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_layout(header.tensors, file.size() - header.data_offset, source);
  return header;
}

}  // namespace lemnos

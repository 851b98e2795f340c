#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lemnos::vk {

/// One embedded SPIR-V module; `name` is the file's stem, or stem.variant.
struct Shader {
  std::string_view name;
  std::span<const uint32_t> words;
};

/// All of them, from the build's generated table.
std::span<const Shader> shaders();
/// Whether the build has a shader of that name; those that need an extension the shader compiler lacked are missing.
bool has_shader(std::string_view name);

}  // namespace lemnos::vk

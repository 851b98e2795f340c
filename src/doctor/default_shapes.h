#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lemnos::doctor {

/// The config.json of a shape that is checked when no model is named.
struct DefaultShape {
  std::string file;  // "src/doctor/shapes/qwen2.json"
  std::string_view text;
};

/// Those of src/doctor/shapes/, one at least for each family, embedded by the build. One has the widths of
/// 0.5 B parameters (layers repeat, so one is enough), the others are small and have other heads, windows
/// and blocks.
std::vector<DefaultShape> default_shapes();

}  // namespace lemnos::doctor

#include "base/error.h"
#include "base/log.h"
#include "cli/command.h"
#include "runtime/profile.h"
#include "vk/device.h"
#include "vk/shaders.h"

namespace lemnos::cli {
namespace {

std::vector<std::pair<const char*, bool>> features_of(const vk::DeviceInfo& d) {
  return {{"int64", d.int64}, {"float64", d.float64}, {"subgroup shuffle", d.shuffle},
          {"16-bit storage", d.f16_storage}, {"cooperative matrix", d.cooperative_matrix}};
}

/// Of products in split precision (docs/numerics.md): "used", or why not.
std::string split_gemm_state(const vk::DeviceInfo& d) {
  if (!d.cooperative_matrix) return "the device has no matrix units for it";
  if (!vk::has_shader("gemm_split.f32")) return "this build's shader compiler did not know GL_KHR_cooperative_matrix";
  return profile_of(d, vk::uses_cpu_path(d, {})).split_gemm ? "used" : "subgroups, workgroups or shared memory do not fit";
}

Json to_json(const vk::DeviceInfo& d, bool used) {
  Json out, features = Json::object();
  for (const auto& [name, there] : features_of(d)) features.set(name, there);
  out.set("index", static_cast<int64_t>(d.index));
  out.set("name", d.name);
  out.set("type", vk::to_string(d.type));
  out.set("driver", d.driver);
  out.set("api", d.api_version);
  out.set("memory_bytes", d.memory_bytes);
  out.set("max_allocation_bytes", d.max_allocation_bytes);
  out.set("shared_memory_bytes", static_cast<int64_t>(d.shared_memory_bytes));
  out.set("subgroup_size", static_cast<int64_t>(d.subgroup_size));
  out.set("features", std::move(features));
  out.set("split_gemm", split_gemm_state(d));
  out.set("missing", d.missing);
  out.set("used", used);
  return out;
}

void print(const vk::DeviceInfo& d, bool used) {
  print_line(format("{}{}: {} ({}, {}, Vulkan {})", used ? "* " : "  ", d.index, d.name, vk::to_string(d.type), d.driver, d.api_version));
  if (!d.missing.empty()) print_line("     cannot be used: " + d.missing);
  print_line(format("     memory {}, one allocation up to {}, {} KiB shared, subgroups of {}",
                    byte_text(d.memory_bytes), byte_text(d.max_allocation_bytes),
                    d.shared_memory_bytes / 1024, d.subgroup_size));
  std::string there;
  for (const auto& [name, has] : features_of(d))
    if (has) there += (there.empty() ? "" : ", ") + std::string(name);
  print_line("     optional features: " + (there.empty() ? "none" : there));
  print_line("     split-precision GEMM: " + split_gemm_state(d));
}

int run_devices(const Arguments& arguments) {
  const std::vector<vk::DeviceInfo> devices = vk::list_devices();
  uint32_t chosen = UINT32_MAX;
  try {
    chosen = vk::select_device(arguments.get("--device").value_or("")).index;
  } catch (const Error& error) {
    if (arguments.has("--device")) throw;
    log_warning("{}", error.what());  // the list is still an answer
  }
  Json list = Json::array();
  for (const vk::DeviceInfo& device : devices) {
    if (arguments.json())
      list.push_back(to_json(device, device.index == chosen));
    else
      print(device, device.index == chosen);
  }
  if (chosen == UINT32_MAX && !arguments.json()) print_line("none of them would be used");
  if (arguments.json()) {
    Json out;
    out.set("devices", std::move(list));
    print_json(out);
  }
  return 0;
}

}  // namespace

extern const Command kCommand_devices;
const Command kCommand_devices{.name = "devices",
                               .summary = "The Vulkan devices, and the one that would be used (*)",
                               .options = {kDeviceOption},
                               .run = run_devices};

}  // namespace lemnos::cli

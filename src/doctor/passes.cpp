#include "doctor/passes.h"

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "io/file.h"

namespace lemnos::doctor {
namespace {

std::string hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += format("{:02x}", byte);
  return text;
}

constexpr int64_t kFormat = 1;

}  // namespace

Passes::Passes(const vk::DeviceInfo& device)
    : device_(format("{}, {}, {} {}", device.name, device.driver, hex(device.device_uuid), hex(device.driver_uuid))) {
  if (const std::filesystem::path folder = cache_folder(); !folder.empty())
    file_ = folder / format("kernel-check-{}.json", hex(device.device_uuid));
  keys_ = read();
}

std::set<std::string> Passes::read() const {
  std::set<std::string> keys;
  std::error_code error;
  if (file_.empty() || !std::filesystem::exists(file_, error)) return keys;
  try {
    const Json file = Json::parse(read_file(file_), file_.string());
    if (file.at("format").as_integer() != kFormat || file.at("device").as_string() != device_) return keys;
    for (const Json& key : file.at("passed").as_array()) keys.insert(key.as_string());
  } catch (const Error& damaged) {
    log_debug("the kernel check runs anew: {}", damaged.what());
    keys.clear();
  }
  return keys;
}

void Passes::save() const {
  if (added_.empty() || file_.empty()) return;
  std::set<std::string> keys = read();  // another run may have added to it
  keys.insert(added_.begin(), added_.end());
  Json out, passed = Json::array();
  for (const std::string& key : keys) passed.push_back(key);
  out.set("format", kFormat);
  out.set("device", device_);
  out.set("passed", std::move(passed));
  try {
    with_io_errors([&] { std::filesystem::create_directories(file_.parent_path()); });
    write_file_atomic(file_, out.dump() + "\n");
  } catch (const Error& error) {
    log_info("note: the kernel check's result is not kept ({}); it runs again next time", error.what());
  }
}

}  // namespace lemnos::doctor

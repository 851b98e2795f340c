#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "vk/device.h"

namespace lemnos::doctor {

/// Which cases (KernelCase::key) passed on a device and driver, kept in a file of the cache folder. A file
/// that cannot be read holds nothing; one that cannot be written costs only time, and is noted.
class Passes {
 public:
  explicit Passes(const vk::DeviceInfo& device);

  bool contains(const std::string& key) const { return keys_.contains(key); }
  void add(const std::string& key) { added_.insert(key); }
  /// Adds them to what the file holds by now; replaces it in one step.
  void save() const;

 private:
  std::set<std::string> read() const;

  std::filesystem::path file_;  // empty: nowhere to keep it
  std::string device_;          // and driver, as the file names them
  std::set<std::string> keys_, added_;
};

}  // namespace lemnos::doctor

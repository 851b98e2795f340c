#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace lemnos::vk {

class Device;

/// A shader by its embedded name, its specialization constants (ids 0, 1, 2, ...) and, when not 0,
/// the subgroup size it must have.
struct PipelineKey {
  std::string shader;
  std::vector<uint32_t> constants;
  uint32_t subgroup_size = 0;
  auto operator<=>(const PipelineKey&) const = default;
};

struct Pipeline {
  std::string name;  ///< the shader's
  uint64_t handle = 0;
};

/// One number that the driver's compiler gives about a pipeline (registers, spills, ...).
struct PipelineStatistic {
  std::string name;
  double value = 0;
};

/// Compiled pipelines of a device, kept until it dies; what the driver compiled is kept on disk
/// ($XDG_CACHE_HOME/lemnos, one file per device and driver), best effort.
class PipelineCache {
 public:
  /// `replaced`: SPIR-V to use for a shader of that name instead of the built one (negative controls).
  explicit PipelineCache(Device& device, std::map<std::string, std::vector<uint32_t>> replaced = {});
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  /// Compiles at the first call for a key. The reference stays valid.
  const Pipeline& get(const PipelineKey& key);
  /// Compiles what is missing, on several threads.
  void prepare(std::span<const PipelineKey> keys);
  /// Empty unless the device was opened with `pipeline_statistics` and can tell.
  std::vector<PipelineStatistic> statistics(const PipelineKey& key);
  size_t size() const { return pipelines_.size(); }

 private:
  uint64_t compile(const PipelineKey& key) const;
  std::span<const uint32_t> words_of(const std::string& shader) const;
  void save() const;

  Device& device_;
  std::map<std::string, std::vector<uint32_t>> replaced_;
  std::filesystem::path file_;  ///< empty: nowhere to keep it
  uint64_t cache_ = 0;
  uint64_t loaded_hash_ = 0;
  std::map<PipelineKey, Pipeline> pipelines_;
};

}  // namespace lemnos::vk

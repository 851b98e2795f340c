#include "vk/pipeline.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/parallel.h"
#include "vk/handles.h"
#include "vk/pipeline_file.h"
#include "vk/shaders.h"

namespace lemnos::vk {
namespace {

const Shader* find_shader(std::string_view name) {
  const auto all = shaders();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Shader& shader) { return shader.name == name; });
  return found != all.end() ? &*found : nullptr;
}

std::span<const uint32_t> shader_words(const std::string& name) {
  const Shader* found = find_shader(name);
  LEMNOS_CHECK(found != nullptr, "no shader is named {}", name);
  return found->words;
}

class ShaderModule {
 public:
  ShaderModule(VkDevice device, std::span<const uint32_t> words) : device_(device) {
    auto info = vk_struct<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    info.codeSize = words.size_bytes();
    info.pCode = words.data();
    vk_check(vkCreateShaderModule(device, &info, nullptr, &module_), "vkCreateShaderModule");
  }
  ~ShaderModule() { vkDestroyShaderModule(device_, module_, nullptr); }
  ShaderModule(const ShaderModule&) = delete;
  ShaderModule& operator=(const ShaderModule&) = delete;
  VkShaderModule get() const { return module_; }

 private:
  VkDevice device_;
  VkShaderModule module_ = VK_NULL_HANDLE;
};

/// Whether the size has to be asked for; throws when the device cannot give it.
bool must_require(const DeviceInfo& info, const PipelineKey& key) {
  if (key.subgroup_size == 0) return false;
  if (key.subgroup_size >= info.min_subgroup_size && key.subgroup_size <= info.max_subgroup_size &&
      info.min_subgroup_size != 0)
    return true;
  if (key.subgroup_size != info.subgroup_size)
    fail(ErrorKind::unsupported, "{} needs subgroups of {}; \"{}\" has {}", key.shader,
         key.subgroup_size, info.name, info.subgroup_size);
  return false;
}

std::vector<VkSpecializationMapEntry> constant_entries(size_t count) {
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < count; ++i) entries.push_back({i, i * 4, 4});
  return entries;
}

double as_number(const VkPipelineExecutableStatisticKHR& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return statistic.value.b32;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return static_cast<double>(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      return static_cast<double>(statistic.value.u64);
    default:
      return statistic.value.f64;
  }
}

}  // namespace

bool has_shader(std::string_view name) { return find_shader(name) != nullptr; }

PipelineCache::PipelineCache(Device& device, std::map<std::string, std::vector<uint32_t>> replaced)
    : device_(device), replaced_(std::move(replaced)), file_(pipeline_file(device.info())) {
  const std::vector<std::byte> kept =
      file_.empty() ? std::vector<std::byte>() : read_pipeline_file(file_);
  loaded_hash_ = content_hash(kept);
  auto info = vk_struct<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  info.initialDataSize = kept.size();
  info.pInitialData = kept.data();
  VkPipelineCache cache = VK_NULL_HANDLE;
  vk_check(vkCreatePipelineCache(device.handles().device, &info, nullptr, &cache),
           "vkCreatePipelineCache");
  cache_ = opaque(cache);
}

PipelineCache::~PipelineCache() {
  const VkDevice device = device_.handles().device;
  if (!file_.empty() && !pipelines_.empty()) save();
  for (const auto& [key, pipeline] : pipelines_)
    vkDestroyPipeline(device, handle_of<VkPipeline>(pipeline.handle), nullptr);
  vkDestroyPipelineCache(device, handle_of<VkPipelineCache>(cache_), nullptr);
}

void PipelineCache::save() const {
  const VkDevice device = device_.handles().device;
  const auto cache = handle_of<VkPipelineCache>(cache_);
  constexpr size_t kHeaderOnly = 32;  // lavapipe keeps nothing here
  size_t size = 0;
  if (vkGetPipelineCacheData(device, cache, &size, nullptr) != VK_SUCCESS || size <= kHeaderOnly)
    return;
  std::vector<std::byte> content(size);
  if (vkGetPipelineCacheData(device, cache, &size, content.data()) != VK_SUCCESS) return;
  content.resize(size);
  if (content_hash(content) != loaded_hash_) write_pipeline_file(file_, content);
}

std::span<const uint32_t> PipelineCache::words_of(const std::string& shader) const {
  const auto found = replaced_.find(shader);
  return found != replaced_.end() ? found->second : shader_words(shader);
}

uint64_t PipelineCache::compile(const PipelineKey& key) const {
  const DeviceHandles& handles = device_.handles();
  const ShaderModule module(handles.device, words_of(key.shader));
  const auto entries = constant_entries(key.constants.size());
  const VkSpecializationInfo constants{static_cast<uint32_t>(entries.size()), entries.data(),
                                       key.constants.size() * 4, key.constants.data()};
  auto required = vk_struct<VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT>(
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT);
  required.requiredSubgroupSize = key.subgroup_size;
  auto info =
      vk_struct<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  if (handles.executable_properties) info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
  info.layout = handles.layout;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  if (must_require(handles.info, key)) info.stage.pNext = &required;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module.get();
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  VkPipeline pipeline = VK_NULL_HANDLE;
  vk_check(vkCreateComputePipelines(handles.device, handle_of<VkPipelineCache>(cache_), 1, &info,
                                    nullptr, &pipeline),
           key.shader.c_str());
  return opaque(pipeline);
}

const Pipeline& PipelineCache::get(const PipelineKey& key) {
  const auto found = pipelines_.find(key);
  if (found != pipelines_.end()) return found->second;
  const uint64_t handle = compile(key);
  return pipelines_.emplace(key, Pipeline{key.shader, handle}).first->second;
}

void PipelineCache::prepare(std::span<const PipelineKey> keys) {
  std::vector<PipelineKey> wanted;
  for (const PipelineKey& key : keys)
    if (!pipelines_.contains(key)) wanted.push_back(key);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());

  std::vector<uint64_t> handles(wanted.size());
  const std::exception_ptr error = run_parallel(wanted.size(), [&](size_t i) { handles[i] = compile(wanted[i]); });
  for (size_t i = 0; i < wanted.size(); ++i)
    if (handles[i] != 0) pipelines_.emplace(wanted[i], Pipeline{wanted[i].shader, handles[i]});
  if (error) std::rethrow_exception(error);
}

std::vector<PipelineStatistic> PipelineCache::statistics(const PipelineKey& key) {
  if (!device_.handles().executable_properties) return {};
  const VkDevice device = device_.handles().device;
  const auto read = reinterpret_cast<PFN_vkGetPipelineExecutableStatisticsKHR>(
      vkGetDeviceProcAddr(device, "vkGetPipelineExecutableStatisticsKHR"));
  auto info =
      vk_struct<VkPipelineExecutableInfoKHR>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR);
  info.pipeline = handle_of<VkPipeline>(get(key).handle);
  uint32_t count = 0;
  vk_check(read(device, &info, &count, nullptr), "vkGetPipelineExecutableStatisticsKHR");
  std::vector<VkPipelineExecutableStatisticKHR> listed(
      count, vk_struct<VkPipelineExecutableStatisticKHR>(
                 VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR));
  vk_check(read(device, &info, &count, listed.data()), "vkGetPipelineExecutableStatisticsKHR");
  std::vector<PipelineStatistic> statistics;
  for (const auto& statistic : listed) statistics.push_back({statistic.name, as_number(statistic)});
  return statistics;
}

}  // namespace lemnos::vk

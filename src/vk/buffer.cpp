#include "vk/buffer.h"

#include <algorithm>
#include <utility>

#include "vk/handles.h"

namespace lemnos::vk {
namespace {

constexpr VkMemoryPropertyFlags kVisible =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr uint32_t kNone = ~0u;

uint32_t find_type(const DeviceHandles& handles, uint32_t allowed, VkMemoryPropertyFlags wanted) {
  for (uint32_t i = 0; i < handles.memory.memoryTypeCount; ++i)
    if ((allowed >> i & 1u) != 0 &&
        (handles.memory.memoryTypes[i].propertyFlags & wanted) == wanted)
      return i;
  return kNone;
}

/// The first type that fits, in order of preference. Mapped device memory only where the CPU reads
/// it through its cache; else a download from it would crawl.
uint32_t choose_type(const DeviceHandles& handles, uint32_t allowed, MemoryKind kind) {
  const bool shared = handles.info.type != DeviceType::discrete;
  const VkMemoryPropertyFlags device_order[] = {shared ? kLocal | kVisible | kCached : kLocal,
                                                kLocal, 0};
  const VkMemoryPropertyFlags host_order[] = {kVisible | kCached, kVisible, kVisible};
  for (VkMemoryPropertyFlags wanted : kind == MemoryKind::device ? device_order : host_order)
    if (const uint32_t type = find_type(handles, allowed, wanted); type != kNone) return type;
  fail(ErrorKind::device, "the device \"{}\" offers no memory for buffers", handles.info.name);
}

[[noreturn]] void fail_memory(const DeviceHandles& handles, uint64_t bytes,
                              std::string_view purpose) {
  fail(ErrorKind::out_of_memory,
       "out of device memory: {} needs {}; \"{}\" has {}, at most {} in one piece, and {} are in use by this program",
       purpose, byte_text(bytes), handles.info.name, byte_text(handles.info.memory_bytes),
       byte_text(handles.info.max_allocation_bytes), byte_text(handles.use.allocated));
}

}  // namespace

Buffer::Buffer(Device& device, uint64_t bytes, MemoryKind kind, std::string_view purpose)
    : device_(&device), bytes_(bytes) {
  LEMNOS_CHECK(bytes > 0, "an empty buffer for {}", purpose);
  if (bytes > device.info().max_allocation_bytes) fail_memory(device.handles(), bytes, purpose);
  try {
    create((bytes + 15) / 16 * 16);
    allocate(kind, purpose);
  } catch (...) {
    release();
    throw;
  }
}

void Buffer::create(uint64_t padded_bytes) {
  auto info = vk_struct<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = padded_bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
               VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT;
  VkBuffer buffer = VK_NULL_HANDLE;
  vk_check(vkCreateBuffer(device_->handles().device, &info, nullptr, &buffer), "vkCreateBuffer");
  buffer_ = opaque(buffer);
}

void Buffer::allocate(MemoryKind kind, std::string_view purpose) {
  DeviceHandles& handles = device_->handles();
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(handles.device, handle_of<VkBuffer>(buffer_), &needs);
  auto flags = vk_struct<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  auto info = vk_struct<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  info.pNext = &flags;
  info.allocationSize = needs.size;
  info.memoryTypeIndex = choose_type(handles, needs.memoryTypeBits, kind);
  VkDeviceMemory memory = VK_NULL_HANDLE;
  const VkResult result = vkAllocateMemory(handles.device, &info, nullptr, &memory);
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
    fail_memory(handles, bytes_, purpose);
  vk_check(result, "vkAllocateMemory");
  memory_ = opaque(memory);
  allocated_ = needs.size;
  handles.use.requested += bytes_;
  handles.use.allocated += allocated_;
  handles.use.peak_requested = std::max(handles.use.peak_requested, handles.use.requested);
  handles.use.peak_allocated = std::max(handles.use.peak_allocated, handles.use.allocated);
  vk_check(vkBindBufferMemory(handles.device, handle_of<VkBuffer>(buffer_), memory, 0),
           "vkBindBufferMemory");
  map_if_visible(info.memoryTypeIndex);
  auto address = vk_struct<VkBufferDeviceAddressInfo>(VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO);
  address.buffer = handle_of<VkBuffer>(buffer_);
  address_ = vkGetBufferDeviceAddress(handles.device, &address);
  LEMNOS_CHECK(address_ % 16 == 0, "buffer address {:#x}", address_);
  handles.buffers[address_] = {handle_of<VkBuffer>(buffer_), address_, (bytes_ + 15) / 16 * 16};
}

void Buffer::map_if_visible(uint32_t memory_type) {
  const DeviceHandles& handles = device_->handles();
  const VkMemoryPropertyFlags flags = handles.memory.memoryTypes[memory_type].propertyFlags;
  if ((flags & kVisible) != kVisible) return;
  void* host = nullptr;
  vk_check(
      vkMapMemory(handles.device, handle_of<VkDeviceMemory>(memory_), 0, VK_WHOLE_SIZE, 0, &host),
      "vkMapMemory");
  mapped_ = static_cast<std::byte*>(host);
}

void Buffer::release() {
  if (device_ == nullptr) return;
  DeviceHandles& handles = device_->handles();
  handles.buffers.erase(address_);
  vkDestroyBuffer(handles.device, handle_of<VkBuffer>(buffer_), nullptr);
  vkFreeMemory(handles.device, handle_of<VkDeviceMemory>(memory_), nullptr);
  if (memory_ != 0) {
    handles.use.requested -= bytes_;
    handles.use.allocated -= allocated_;
  }
  device_ = nullptr;
}

Buffer::~Buffer() { release(); }

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  device_ = std::exchange(other.device_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  allocated_ = std::exchange(other.allocated_, 0);
  buffer_ = std::exchange(other.buffer_, 0);
  memory_ = std::exchange(other.memory_, 0);
  address_ = std::exchange(other.address_, 0);
  mapped_ = std::exchange(other.mapped_, nullptr);
  return *this;
}

}  // namespace lemnos::vk

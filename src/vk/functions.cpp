#include "vk/functions.h"

#include <dlfcn.h>

#include "base/error.h"

namespace lemnos::vk {

#define LEMNOS_DEFINE(name) PFN_##name name = nullptr;
LEMNOS_VK_FUNCTIONS(LEMNOS_DEFINE)
#undef LEMNOS_DEFINE

void load_vulkan_from(const char* library) {
  void* const loader = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (loader == nullptr)
    fail(ErrorKind::device,
         "Vulkan cannot be loaded: {}; install the loader (package libvulkan1, vulkan-loader or vulkan-icd-loader) and a "
         "driver for your GPU, or mesa-vulkan-drivers for the CPU device (lavapipe)",
         ::dlerror());
  const auto find = [&](const char* name) {
    void* const function = ::dlsym(loader, name);
    if (function == nullptr) fail(ErrorKind::device, "the Vulkan loader {} is too old: it has no {}; update it", library, name);
    return function;
  };
#define LEMNOS_FIND(name) name = reinterpret_cast<PFN_##name>(find(#name));
  LEMNOS_VK_FUNCTIONS(LEMNOS_FIND)
#undef LEMNOS_FIND
}

void load_vulkan() {
  [[maybe_unused]] static const bool once = (load_vulkan_from("libvulkan.so.1"), true);
}

}  // namespace lemnos::vk

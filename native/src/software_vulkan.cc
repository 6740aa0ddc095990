#include "software_vulkan.h"

#if defined(__linux__)

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace mizuoto {
namespace {

using DestroyBuffer = void (*)(void* device, uint64_t buffer, const void* allocator);

std::atomic<DestroyBuffer> destroyBuffer{nullptr};
thread_local bool keeps = false;

void destroyUnlessKept(void* device, uint64_t buffer, const void* allocator) {
    if (!keeps) destroyBuffer.load()(device, buffer, allocator);
}

/** Vulkan-Hpp's table of functions, through which ggml-vulkan calls the driver: pointer after pointer. */
void** dispatchTable(void* library) {
    const auto table = reinterpret_cast<void** (*)()>(dlsym(library, "_Z26ggml_vk_default_dispatcherv"));
    return table == nullptr ? nullptr : table();
}

void intercept(ggml_backend_dev_t device) {
    // Vulkan 1.0 comes first: the functions of buffers stand near the fiftieth place.
    constexpr size_t kFirstFunctions = 128;
    Dl_info found{};
    if (dladdr(ggml_backend_dev_backend_reg(device), &found) == 0) return;
    // Loaded already, and for the life of the process.
    void* library = dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return;
    void* loaders = dlsym(library, "vkDestroyBuffer");
    void** table = dispatchTable(library);
    if (loaders == nullptr || table == nullptr) return;
    void** entry = std::find(table, table + kFirstFunctions, loaders);
    if (entry == table + kFirstFunctions) return;
    destroyBuffer.store(reinterpret_cast<DestroyBuffer>(loaders));
    std::atomic_ref<void*>(*entry).store(reinterpret_cast<void*>(&destroyUnlessKept));
}

}  // namespace

void keepDestroyedBuffers(ggml_backend_dev_t device) {
    static std::once_flag once;
    std::call_once(once, intercept, device);
    keeps = true;
}

}  // namespace mizuoto

#else

namespace mizuoto {

void keepDestroyedBuffers(ggml_backend_dev_t) {}

}  // namespace mizuoto

#endif

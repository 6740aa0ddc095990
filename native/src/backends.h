#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ggml-backend.h"

namespace mizuoto {

struct DeviceCaps {
    bool async = false;
    bool hostBuffer = false;
    bool bufferFromHostPtr = false;
    bool events = false;
};

struct DeviceInfo {
    std::string name;
    std::string description;
    std::string kind;  // cpu, gpu, igpu, accel
    std::string backend;
    uint64_t freeBytes = 0;
    uint64_t totalBytes = 0;
    DeviceCaps caps;
};

/**
 * Registers every backend of a folder (UTF-8 path) with ggml. ggml's registry belongs to the process, so this
 * is done once however many threads load the addon. Throws BackendMissing.
 */
void loadBackends(const std::string& folder);

std::vector<DeviceInfo> listDevices();
DeviceInfo describeDevice(ggml_backend_dev_t device);

/** Throws DeviceNotFound with the names there are, or BackendMissing before `loadBackends`. */
ggml_backend_dev_t findDevice(const std::string& name);

/** The last complaint that ggml logged on this thread, for messages; empties it. */
std::string takeLastLog();

/** While it lives, an assertion of ggml on this thread throws (Internal) instead of ending the process. */
class AssertionGuard {
  public:
    AssertionGuard();
    ~AssertionGuard();
    AssertionGuard(const AssertionGuard&) = delete;
    AssertionGuard& operator=(const AssertionGuard&) = delete;
};

/**
 * Calls into a backend. What it throws (Vulkan's C++ bindings throw) or asserts comes out as an Error:
 * OutOfDeviceMemory, DeviceLost or Internal. Not for CPU graph execution, where an assertion can fire on one
 * of several threads.
 */
void callBackend(const std::string& device, const std::function<void()>& body);

}  // namespace mizuoto

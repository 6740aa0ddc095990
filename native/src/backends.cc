#include "backends.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <set>
#include <system_error>

#include "error.h"
#include "processors.h"

namespace mizuoto {
namespace {

std::mutex registryMutex;
std::set<std::string> loadedFolders;

thread_local std::string lastLog;
thread_local int assertionDepth = 0;

bool logToStderr() {
    static const bool enabled = std::getenv("MIZUOTO_GGML_LOG") != nullptr;
    return enabled;
}

void onLog(ggml_log_level level, const char* text, void*) {
    if (logToStderr()) std::fputs(text, stderr);
    if (level >= GGML_LOG_LEVEL_WARN && level != GGML_LOG_LEVEL_CONT) lastLog = text;
}

// A second line of defence: our own checks come first. Unwinding is only safe where no other thread computes.
void onAbort(const char* message) {
    if (assertionDepth > 0) throw Error("Internal", std::string("ggml: ") + message);
    std::fputs(message, stderr);
    std::fputc('\n', stderr);
}

std::string kindOf(enum ggml_backend_dev_type type) {
    switch (type) {
        case GGML_BACKEND_DEVICE_TYPE_CPU:
            return "cpu";
        case GGML_BACKEND_DEVICE_TYPE_GPU:
            return "gpu";
        case GGML_BACKEND_DEVICE_TYPE_IGPU:
            return "igpu";
        default:
            return "accel";
    }
}

// Numbers of VkResult, which Vulkan's C++ bindings put into std::system_error.
constexpr int kVkOutOfHostMemory = -1;
constexpr int kVkOutOfDeviceMemory = -2;
constexpr int kVkDeviceLost = -4;

[[noreturn]] void rethrow(const std::string& device, const std::system_error& error) {
    const std::string text = device + ": " + error.what();
    if (std::strcmp(error.code().category().name(), "vk::Result") == 0) {
        switch (error.code().value()) {
            case kVkOutOfDeviceMemory:
                throw Error("OutOfDeviceMemory", text, {detailOf("device", device)});
            case kVkOutOfHostMemory:
                throw Error("OutOfHostMemory", text, {detailOf("device", device)});
            case kVkDeviceLost:
                throw Error("DeviceLost", text, {detailOf("device", device)});
            default:
                break;
        }
    }
    throw Error("Internal", text, {detailOf("device", device)});
}

}  // namespace

void loadBackends(const std::string& folder) {
    const std::lock_guard lock(registryMutex);
    if (loadedFolders.contains(folder)) return;
    ggml_log_set(onLog, nullptr);
    ggml_set_abort_callback(onAbort);
    ggml_backend_load_all_from_path(folder.c_str());
    if (ggml_backend_reg_by_name("CPU") == nullptr) {
        throw Error("BackendMissing",
                    "No ggml backend for this processor in " + folder + ". Run: npm run setup",
                    {detailOf("folder", folder)});
    }
    loadedFolders.insert(folder);
}

DeviceInfo describeDevice(ggml_backend_dev_t device) {
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(device, &props);
    DeviceInfo info;
    info.name = props.name;
    info.description = props.description;
    info.kind = kindOf(props.type);
    info.backend = ggml_backend_reg_name(ggml_backend_dev_backend_reg(device));
    info.freeBytes = props.memory_free;
    info.totalBytes = props.memory_total;
    if (props.type == GGML_BACKEND_DEVICE_TYPE_CPU) {
        // ggml reports all of the machine's memory as free.
        const HostMemory memory = hostMemory();
        info.freeBytes = memory.availableBytes;
        info.totalBytes = memory.totalBytes;
    }
    info.caps = {props.caps.async, props.caps.host_buffer, props.caps.buffer_from_host_ptr,
                 props.caps.events};
    return info;
}

std::vector<DeviceInfo> listDevices() {
    const std::lock_guard lock(registryMutex);
    std::vector<DeviceInfo> devices;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i)
        devices.push_back(describeDevice(ggml_backend_dev_get(i)));
    return devices;
}

ggml_backend_dev_t findDevice(const std::string& name) {
    const std::lock_guard lock(registryMutex);
    if (loadedFolders.empty()) {
        throw Error("BackendMissing", "No backend is loaded yet: call loadBackends first.");
    }
    std::string known;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (name == ggml_backend_dev_name(device)) return device;
        known += (known.empty() ? "" : ", ") + std::string(ggml_backend_dev_name(device));
    }
    throw Error("DeviceNotFound", "There is no device named '" + name + "'. There are: " + known + ".",
                {detailOf("device", name), detailOf("known", known)});
}

std::string takeLastLog() {
    std::string text = std::move(lastLog);
    lastLog.clear();
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text;
}

AssertionGuard::AssertionGuard() {
    ++assertionDepth;
}

AssertionGuard::~AssertionGuard() {
    --assertionDepth;
}

void callBackend(const std::string& device, const std::function<void()>& body) {
    const AssertionGuard guard;
    try {
        body();
    } catch (const Error&) {
        throw;
    } catch (const std::system_error& error) {
        rethrow(device, error);
    } catch (const std::bad_alloc&) {
        throw Error("OutOfHostMemory", device + ": host memory is used up.", {detailOf("device", device)});
    } catch (const std::exception& error) {
        throw Error("Internal", device + ": " + error.what(), {detailOf("device", device)});
    }
}

}  // namespace mizuoto

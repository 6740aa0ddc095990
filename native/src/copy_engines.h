#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "copy_engine.h"
#include "error.h"
#include "host_lock.h"

namespace mizuoto {

using CopyClock = std::chrono::steady_clock;

inline double secondsSince(CopyClock::time_point begin) {
    return std::chrono::duration<double>(CopyClock::now() - begin).count();
}

Error copyFailed(const Device& device, const std::string& subject);

/** Throws where a simulated device objects to this source of a copy. */
void requireCopyable(const Device& device, const HostRange& source, const std::string& subject);

/** Memory of a backend as a tensor of bytes, which it copies into and reads from. */
ggml_tensor bytesAt(ggml_backend_buffer_t buffer, uint8_t* address, size_t bytes);

/** For simulated devices. */
std::unique_ptr<CopyEngine> makeThreadCopyEngine(Device& device, Link& link, size_t slots);
/** For backends with events. */
std::unique_ptr<CopyEngine> makeStreamCopyEngine(Device& device, size_t slots);

}  // namespace mizuoto

#pragma once

#include <atomic>
#include <memory>

#include "error.h"

namespace mizuoto {

/** Set on the JavaScript thread, read by the device's thread at each segment and each copy. */
class CancelFlag {
  public:
    void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
    bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> cancelled_{false};
};

using CancelPointer = std::shared_ptr<const CancelFlag>;

inline void throwIfCancelled(const CancelPointer& flag) {
    if (flag && flag->cancelled()) throw Error("Cancelled", "The work was cancelled.");
}

}  // namespace mizuoto

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ggml-backend.h"

namespace mizuoto {

/** Host memory of one weight, or a part of it. */
struct HostRange {
    const uint8_t* data = nullptr;
    size_t bytes = 0;
};

/** How a backend page-locks host memory where it lies. From any thread. */
class HostLocking {
  public:
    virtual ~HostLocking() = default;
    /** False where the backend refuses. */
    virtual bool lock(const HostRange& range) = 0;
    virtual void unlock(const uint8_t* data) = 0;
    /** Copies that lie partly in locked memory fail. Null when this one is allowed, else what is wrong. */
    virtual const char* objection(const HostRange& source) const {
        static_cast<void>(source);
        return nullptr;
    }

    /** Null where the backend cannot, or will not in this environment. */
    static std::unique_ptr<HostLocking> ofBackend(ggml_backend_reg_t registry);
    /** As strict as CUDA: refuses pages that are locked already, objects to copies across an end. */
    static std::unique_ptr<HostLocking> simulated();
};

/**
 * Whole pages inside the memory of a unit's weights. Neighbours count as one; two units never share a page,
 * so that each can be locked by itself. What is smaller than `smallest` is not worth it.
 */
std::vector<HostRange> wholePages(std::vector<HostRange> weights, size_t pageBytes, size_t smallest);

class HostLocks;

/** Page-locked as long as it lives. */
class HostLock {
  public:
    ~HostLock();
    HostLock(const HostLock&) = delete;
    HostLock& operator=(const HostLock&) = delete;
    const HostRange& range() const { return range_; }

  private:
    friend class HostLocks;
    HostLock(std::shared_ptr<HostLocks> locks, const HostRange& range, std::shared_ptr<const void> keep)
        : locks_(std::move(locks)), range_(range), keep_(std::move(keep)) {}

    std::shared_ptr<HostLocks> locks_;
    HostRange range_;
    /** Owner of the memory, which must not go before. */
    std::shared_ptr<const void> keep_;
};

/** What is page-locked in place for one kind of devices. From any thread. */
class HostLocks : public std::enable_shared_from_this<HostLocks> {
  public:
    explicit HostLocks(std::unique_ptr<HostLocking> locking) : locking_(std::move(locking)) {}

    /**
     * Null where the backend refuses, or where some but not all of it is locked. `keep` owns the memory;
     * null: the caller answers for it.
     */
    std::shared_ptr<HostLock> take(const HostRange& range, std::shared_ptr<const void> keep);
    /** The range in pieces that lie within one lock or in none. What they touch is added to `touched`. */
    std::vector<HostRange> cut(const HostRange& range, std::vector<std::shared_ptr<HostLock>>& touched) const;
    const char* objection(const HostRange& source) const { return locking_->objection(source); }

  private:
    friend class HostLock;
    void release(const HostRange& range);

    std::unique_ptr<HostLocking> locking_;
    mutable std::mutex mutex_;
    /** By address; a range that is being released has no lock any more. */
    std::map<const uint8_t*, std::pair<size_t, std::weak_ptr<HostLock>>> live_;
};

/** Of all devices of this backend. Null where it cannot. */
std::shared_ptr<HostLocks> hostLocksOf(ggml_backend_reg_t registry);

}  // namespace mizuoto

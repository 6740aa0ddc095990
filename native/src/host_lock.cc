#include "host_lock.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "host_import.h"

namespace mizuoto {
namespace {

class BackendLocking final : public HostLocking {
  public:
    using Lock = bool (*)(void*, size_t);
    using Unlock = void (*)(void*);
    BackendLocking(Lock lock, Unlock unlock) : lock_(lock), unlock_(unlock) {}

    bool lock(const HostRange& range) override {
        return lock_(const_cast<uint8_t*>(range.data), range.bytes);
    }
    void unlock(const uint8_t* data) override { unlock_(const_cast<uint8_t*>(data)); }

  private:
    Lock lock_;
    Unlock unlock_;
};

class SimulatedLocking final : public HostLocking {
  public:
    bool lock(const HostRange& range) override {
        const std::lock_guard lock(mutex_);
        const size_t page = pageBytes();
        const uintptr_t begin = addressOf(range.data) / page * page;
        const uintptr_t end = (addressOf(range.data + range.bytes) + page - 1) / page * page;
        const auto next = locked_.lower_bound(begin);
        if (next != locked_.end() && next->first < end) return false;
        if (next != locked_.begin() && std::prev(next)->second > begin) return false;
        locked_.emplace(begin, end);
        return true;
    }

    void unlock(const uint8_t* data) override {
        const std::lock_guard lock(mutex_);
        locked_.erase(addressOf(data));
    }

    const char* objection(const HostRange& source) const override {
        const std::lock_guard lock(mutex_);
        const uintptr_t begin = addressOf(source.data);
        const uintptr_t end = begin + source.bytes;
        for (const auto& [from, to] : locked_) {
            const bool apart = end <= from || begin >= to;
            const bool within = begin >= from && end <= to;
            if (!apart && !within) return "its source is locked in part";
        }
        return nullptr;
    }

  private:
    static uintptr_t addressOf(const uint8_t* data) { return reinterpret_cast<uintptr_t>(data); }

    mutable std::mutex mutex_;
    std::map<uintptr_t, uintptr_t> locked_;
};

/** What lies between two tensors of a file because the second begins at a multiple of this. */
constexpr uintptr_t kFileAlignment = 32;

}  // namespace

std::unique_ptr<HostLocking> HostLocking::ofBackend(ggml_backend_reg_t registry) {
    const auto address = [&](const char* symbol) {
        return ggml_backend_reg_get_proc_address(registry, symbol);
    };
    const auto lock = reinterpret_cast<BackendLocking::Lock>(address("ggml_backend_register_host_buffer"));
    const auto unlock =
        reinterpret_cast<BackendLocking::Unlock>(address("ggml_backend_unregister_host_buffer"));
    // ggml-cuda answers "no" to every registration unless the environment asks for it.
    if (lock == nullptr || unlock == nullptr || std::getenv("GGML_CUDA_REGISTER_HOST") == nullptr) {
        return nullptr;
    }
    return std::make_unique<BackendLocking>(lock, unlock);
}

std::unique_ptr<HostLocking> HostLocking::simulated() {
    return std::make_unique<SimulatedLocking>();
}

std::vector<HostRange> wholePages(std::vector<HostRange> weights, size_t pageBytes, size_t smallest) {
    std::sort(weights.begin(), weights.end(),
              [](const HostRange& a, const HostRange& b) { return std::less<>{}(a.data, b.data); });
    const auto alignedUp = [](uintptr_t at, uintptr_t to) { return (at + to - 1) / to * to; };
    std::vector<HostRange> pages;
    for (size_t i = 0; i < weights.size();) {
        const auto begin = reinterpret_cast<uintptr_t>(weights[i].data);
        uintptr_t end = begin + weights[i].bytes;
        // No page ends within padding this small, so none is taken that someone else's weight shares.
        for (++i; i < weights.size(); ++i) {
            const auto next = reinterpret_cast<uintptr_t>(weights[i].data);
            if (next > alignedUp(end, kFileAlignment)) break;
            end = std::max(end, next + weights[i].bytes);
        }
        const uintptr_t first = alignedUp(begin, pageBytes);
        const uintptr_t last = end / pageBytes * pageBytes;
        if (last < first + std::max(smallest, size_t{1})) continue;
        pages.push_back({reinterpret_cast<const uint8_t*>(first), last - first});
    }
    return pages;
}

HostLock::~HostLock() {
    locks_->release(range_);
}

std::shared_ptr<HostLock> HostLocks::take(const HostRange& range, std::shared_ptr<const void> keep) {
    const std::lock_guard lock(mutex_);
    auto next = live_.upper_bound(range.data);
    if (next != live_.begin()) {
        const auto& [begin, entry] = *std::prev(next);
        const uint8_t* end = begin + entry.first;
        if (range.data + range.bytes <= end) return entry.second.lock();
        if (range.data < end) return nullptr;
    }
    if (next != live_.end() && next->first < range.data + range.bytes) return nullptr;
    if (!locking_->lock(range)) return nullptr;
    std::shared_ptr<HostLock> taken(new HostLock(shared_from_this(), range, std::move(keep)));
    live_.emplace(range.data, std::pair{range.bytes, std::weak_ptr(taken)});
    return taken;
}

std::vector<HostRange> HostLocks::cut(const HostRange& range,
                                      std::vector<std::shared_ptr<HostLock>>& touched) const {
    const std::lock_guard lock(mutex_);
    std::vector<HostRange> pieces;
    const uint8_t* at = range.data;
    const uint8_t* const end = range.data + range.bytes;
    const auto add = [&](const uint8_t* until) {
        if (until > at) pieces.push_back({at, static_cast<size_t>(until - at)});
        at = std::max(at, until);
    };
    auto next = live_.upper_bound(at);
    if (next != live_.begin()) --next;
    for (; next != live_.end() && next->first < end; ++next) {
        const uint8_t* const lockEnd = next->first + next->second.first;
        if (lockEnd <= at) continue;
        add(std::min(next->first, end));
        add(std::min(lockEnd, end));
        const auto held = next->second.second.lock();
        if (held && std::find(touched.begin(), touched.end(), held) == touched.end()) touched.push_back(held);
    }
    add(end);
    return pieces;
}

void HostLocks::release(const HostRange& range) {
    const std::lock_guard lock(mutex_);
    locking_->unlock(range.data);
    live_.erase(range.data);
}

std::shared_ptr<HostLocks> hostLocksOf(ggml_backend_reg_t registry) {
    static std::mutex mutex;
    static std::map<ggml_backend_reg_t, std::shared_ptr<HostLocks>> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find(registry);
    if (found != known.end()) return found->second;
    auto locking = HostLocking::ofBackend(registry);
    auto locks = locking ? std::make_shared<HostLocks>(std::move(locking)) : nullptr;
    return known.emplace(registry, std::move(locks)).first->second;
}

}  // namespace mizuoto

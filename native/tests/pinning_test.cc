// Weights in page-locked memory: which pages are locked, where copies are cut, and that whatever goes first,
// nothing reads memory that is gone (under a sanitizer) or stays locked.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "host_lock.h"
#include "workshop.h"

using namespace workbench;

namespace {

constexpr size_t kPage = 4096;

HostRange range(uintptr_t address, size_t bytes) {
    return {reinterpret_cast<const uint8_t*>(address), bytes};
}

uintptr_t begin(const HostRange& range) {
    return reinterpret_cast<uintptr_t>(range.data);
}
uintptr_t end(const HostRange& range) {
    return begin(range) + range.bytes;
}

}  // namespace

TEST_CASE(locked_pages_belong_to_one_unit) {
    // Neighbours, also behind padding of a file, are one run; what lies between others is not touched.
    const auto pages = wholePages({range(0x12800, 0x1000), range(0x10010, 0x27d8), range(0x13800, 0x800),
                                   range(0x14020, 0x3000), range(0x20000, 0x1000), range(0x30001, 0x1ffe)},
                                  kPage, kPage);
    CHECK_EQUAL(pages.size(), size_t{3});
    CHECK_EQUAL(begin(pages[0]), uintptr_t{0x11000});
    CHECK_EQUAL(end(pages[0]), uintptr_t{0x14000});
    CHECK_EQUAL(begin(pages[1]), uintptr_t{0x15000});
    CHECK_EQUAL(end(pages[1]), uintptr_t{0x17000});
    CHECK_EQUAL(begin(pages[2]), uintptr_t{0x20000});
    CHECK(wholePages({range(0x10001, 0x1fff)}, kPage, kPage + 1).empty());
}

TEST_CASE(any_units_are_locked_side_by_side_and_every_copy_is_allowed) {
    std::mt19937 random(7);
    const auto upTo = [&](size_t most) { return std::uniform_int_distribution<size_t>(0, most)(random); };
    for (int round = 0; round < 300; ++round) {
        // Weights one after the other, with gaps, dealt to three units.
        std::vector<std::vector<HostRange>> units(3);
        std::vector<HostRange> all;
        uintptr_t at = 0x100000 + upTo(5000);
        for (int i = 0; i < 12; ++i) {
            const HostRange weight = range(at, 1 + upTo(3 * kPage));
            at = end(weight) + (upTo(2) == 0 ? upTo(2 * kPage) : upTo(1) * (31 - (end(weight) + 31) % 32));
            units[upTo(2)].push_back(weight);
            all.push_back(weight);
        }
        const auto locks = std::make_shared<HostLocks>(HostLocking::simulated());
        std::vector<std::shared_ptr<HostLock>> held;
        for (const auto& unit : units) {
            for (const HostRange& pages : wholePages(unit, pageBytes(), 1)) {
                held.push_back(locks->take(pages, nullptr));
                CHECK(held.back() != nullptr);
            }
        }
        std::shuffle(held.begin(), held.end(), random);
        for (;;) {
            for (const HostRange& weight : all) {
                std::vector<std::shared_ptr<HostLock>> touched;
                uintptr_t next = begin(weight);
                for (const HostRange& piece : locks->cut(weight, touched)) {
                    CHECK_EQUAL(begin(piece), next);
                    CHECK(locks->objection(piece) == nullptr);
                    next = end(piece);
                }
                CHECK_EQUAL(next, end(weight));
            }
            if (held.empty()) break;
            held.pop_back();
        }
    }
}

TEST_CASE(memory_that_is_locked_already_is_shared_and_other_memory_refused) {
    const auto locks = std::make_shared<HostLocks>(HostLocking::simulated());
    auto outer = locks->take(range(0x10000, 4 * kPage), nullptr);
    auto inner = locks->take(range(0x11000, kPage), nullptr);
    CHECK(inner == outer);
    CHECK(locks->take(range(0xf000, 2 * kPage), nullptr) == nullptr);
    CHECK(locks->take(range(0x13000, 2 * kPage), nullptr) == nullptr);
    CHECK(locks->objection(range(0xf800, kPage)) != nullptr);
    outer.reset();
    CHECK(locks->objection(range(0xf800, kPage)) != nullptr);
    inner.reset();
    CHECK(locks->objection(range(0xf800, kPage)) == nullptr);
    CHECK(locks->take(range(0xf000, 2 * kPage), nullptr) != nullptr);
}

TEST_CASE(pinned_weights_whatever_goes_first) {
    for (const bool inPlace : {false, true}) {
        for (const bool converted : {false, true}) {
            for (int order = 0; order < 6; ++order) {
                auto device = simulated(inPlace);
                auto checkpoint =
                    Checkpoint::open({workshop().file("pinned" + std::to_string(order), size_t{2} << 20)});
                const std::weak_ptr<const Checkpoint> file = checkpoint;
                auto store = storeOf(checkpoint, {"a", "b"}, converted ? GGML_TYPE_BF16 : GGML_TYPE_F32);
                checkpoint.reset();
                store->bind(device);
                const auto locks = device->hostLocks();
                on(device, [&] {
                    CHECK_EQUAL(store->pin(0, nullptr), store->unitBytes(0));
                    CHECK_EQUAL(store->pin(1, nullptr), store->unitBytes(1));
                    store->place(0, false, nullptr);
                });
                switch (order) {
                    case 0:  // Dropped where placed, then given up.
                        on(device, [&] {
                            CHECK_EQUAL(store->dropHost(0), converted ? store->ownedBytes(0) : size_t{0});
                            CHECK_EQUAL(store->dropHost(1), size_t{0});
                            store->unplaceAll();
                        });
                        break;
                    case 1:  // The store, on its device's thread.
                        on(device, [&] { store.reset(); });
                        break;
                    case 2:  // The device under it.
                        device->shutdown();
                        store->unplaceAll();
                        break;
                    case 3:  // Lost, then closed.
                        device->markLost();
                        device->shutdown();
                        break;
                    case 4:  // Unpinned, used, pinned again.
                        store->requestUnpin(0);
                        store->requestUnpin(1);
                        on(device, [&] {
                            store->place(1, false, nullptr);
                            CHECK_EQUAL(store->pin(1, nullptr), store->unitBytes(1));
                            store->unplaceAll();
                        });
                        break;
                    default:  // New values, in and out of it.
                        on(device, [&] {
                            const std::vector<float> fresh(kRows * kWidth, 3.0F);
                            const auto* bytes = reinterpret_cast<const uint8_t*>(fresh.data());
                            store->replace(store->indexOf("a"), bytes);
                            store->replace(store->indexOf("b"), bytes);
                            store->place(1, false, nullptr);
                        });
                        store->requestUnpin(0);
                        on(device, [&] {
                            store->replace(store->indexOf("a"),
                                           std::vector<uint8_t>(kRows * kWidth * 4).data());
                            store->unplaceAll();
                        });
                }
                device->shutdown();
                store.reset();
                device.reset();
                CHECK(file.expired());
                // Nothing is locked any more: all of memory may be.
                if (locks) CHECK(locks->take(range(kPage, SIZE_MAX / 2), nullptr) != nullptr);
            }
        }
    }
}

TEST_CASE(what_copies_have_touched_is_unlocked_with_what_was_pinned) {
    auto device = simulated(true);
    // The second begins at an odd place: it is read into memory of its own.
    auto checkpoint = Checkpoint::open({workshop().file("touched", (size_t{2} << 20) + 2)});
    auto store = storeOf(checkpoint);
    store->bind(device);
    CHECK_EQUAL(store->ownedBytes(0), size_t{0});
    CHECK_EQUAL(store->ownedBytes(1), store->unitBytes(1));
    const auto nothingIsLocked = [&] {
        return device->hostLocks()->take(range(kPage, SIZE_MAX / 2), nullptr) != nullptr;
    };
    on(device, [&] {
        for (const int unit : {0, 1}) {
            CHECK_EQUAL(store->pin(unit, nullptr), store->unitBytes(unit));
            CHECK(store->pieces(unit).size() > 1);
        }
    });
    CHECK(!nothingIsLocked());
    store->requestUnpin(0);
    on(device, [&] {
        store->place(1, false, nullptr);
        store->dropHost(1);
        CHECK(nothingIsLocked());
        store->unplaceAll();
    });
    device->shutdown();
}

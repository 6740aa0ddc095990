// Weights that a device reads where they lie: how imports are cut, and that whatever goes first, nothing
// reads memory that is gone (under a sanitizer) or keeps a file that nobody uses.
#include <memory>
#include <string>
#include <vector>

#include "import_plan.h"
#include "workshop.h"

using namespace workbench;

namespace {

const uint8_t* at(uintptr_t address) {
    return reinterpret_cast<const uint8_t*>(address);
}

}  // namespace

TEST_CASE(imports_join_what_lies_close_together) {
    const int file = 0;
    const ImportLimits limits{4096, SIZE_MAX, 64, 8192};
    const ImportPlan plan = planImports({{&file, at(0x11010), 0x1000},
                                         {&file, at(0x10008), 0x800},
                                         // 8 KiB of others between pages: taken along; one page more: not.
                                         {&file, at(0x15000), 0x10},
                                         {&file, at(0x19000), 0x1000}},
                                        limits);
    CHECK_EQUAL(plan.windows.size(), size_t{2});
    CHECK(plan.windows[0].data == at(0x10000));
    CHECK_EQUAL(plan.windows[0].bytes, size_t{0x6000});
    CHECK(plan.windows[1].data == at(0x19000));
    CHECK(plan.windowOf == (std::vector<int>{0, 0, 0, 1}));
}

TEST_CASE(imports_hold_whole_pieces_of_one_file_within_the_largest_buffer) {
    const int files[2] = {};
    const ImportLimits limits{4096, 0x4000, 64, 1 << 20};
    const ImportPlan plan = planImports({{&files[0], at(0x10000), 0x3000},
                                         {&files[0], at(0x13000), 0x2000},
                                         {&files[1], at(0x15000), 0x1000},
                                         // Needs five pages by where it begins; nothing of it is imported.
                                         {&files[1], at(0x20800), 0x4000},
                                         {&files[1], at(0x30000), 0},
                                         {nullptr, nullptr, 0}},
                                        limits);
    CHECK(plan.windowOf == (std::vector<int>{0, 1, 2, -1, -1, -1}));
    CHECK_EQUAL(plan.windows[0].bytes, size_t{0x3000});
    CHECK(plan.windows[2].file == &files[1]);
}

TEST_CASE(imports_that_are_too_many_are_the_fullest) {
    const int file = 0;
    std::vector<Importable> pieces;
    for (size_t i = 0; i < 10; ++i) pieces.push_back({&file, at(0x100000 * (i + 1)), 0x100 * (i + 1)});
    const ImportPlan plan = planImports(pieces, {4096, SIZE_MAX, 3, 0});
    CHECK_EQUAL(plan.windows.size(), size_t{3});
    for (size_t i = 0; i < 10; ++i) CHECK_EQUAL(plan.windowOf[i] >= 0, i >= 7);
    CHECK(plan.windows[static_cast<size_t>(plan.windowOf[9])].data == at(0xa00000));
}

TEST_CASE(units_and_components_share_an_import_which_ends_with_the_last) {
    const auto device = simulated();
    std::weak_ptr<const Checkpoint> file;
    {
        auto checkpoint = Checkpoint::open({workshop().file("share")});
        file = checkpoint;
        auto one = storeOf(checkpoint);
        auto two = storeOf(checkpoint, {"b"});
        checkpoint.reset();
        one->bind(device);
        two->bind(device);
        on(device, [&] {
            one->place(0, true, nullptr);
            one->place(1, true, nullptr);
            two->place(0, true, nullptr);
            ggml_backend_buffer_t first = seen(*one, "a", 1);
            CHECK(seen(*one, "b", 2) == first);
            CHECK(seen(*two, "b", 2) == first);
            one->unplaceAll();
            one.reset();
            seen(*two, "b", 2);
            two->unplaceAll();
        });
        CHECK(!file.expired());
        two.reset();
    }
    CHECK(file.expired());
    CHECK_EQUAL(device->ledger().snapshot().held[0], uint64_t{0});
    device->shutdown();
}

TEST_CASE(whatever_goes_first) {
    for (int order = 0; order < 5; ++order) {
        auto device = simulated();
        auto checkpoint = Checkpoint::open({workshop().file("order" + std::to_string(order), order * 4)});
        const std::weak_ptr<const Checkpoint> file = checkpoint;
        auto store = storeOf(checkpoint);
        checkpoint.reset();
        store->bind(device);
        on(device, [&] {
            store->place(0, true, nullptr);
            store->place(1, true, nullptr);
            seen(*store, "b", 2);
        });
        CHECK_EQUAL(store->mappedBytes(), store->unitBytes(0) + store->unitBytes(1));
        switch (order) {
            case 0:  // Given up, and nothing else.
                on(device, [&] { store->unplaceAll(); });
                break;
            case 1:  // The store, on its device's thread, as when JavaScript lets go of it.
                on(device, [&] { store.reset(); });
                break;
            case 2:  // The device under it.
                device->shutdown();
                CHECK_EQUAL(device->ledger().snapshot().held[0], uint64_t{0});
                store->unplaceAll();
                break;
            case 3:  // Lost, then closed.
                device->markLost();
                device->shutdown();
                break;
            default:  // One weight replaced, then all.
                on(device, [&] {
                    const std::vector<float> fresh(kRows * kWidth, 3.0F);
                    store->replace(store->indexOf("a"), reinterpret_cast<const uint8_t*>(fresh.data()));
                    seen(*store, "a", 3);
                    seen(*store, "b", 2);
                    CHECK_EQUAL(store->mappedBytes(), store->unitBytes(1));
                    store->unplace(1);
                    seen(*store, "a", 3);
                    store->unplaceAll();
                });
        }
        device->shutdown();
        store.reset();
        device.reset();
        CHECK(file.expired());
    }
}

TEST_CASE(an_import_that_fails_leaves_nothing) {
    const auto device = simulated();
    const auto checkpoint = Checkpoint::open({workshop().file("fails")});
    const auto store = storeOf(checkpoint);
    store->bind(device);
    on(device, [&] {
        device->faults().set({1, 0, 0, 0});
        std::string code = "none";
        try {
            store->place(0, true, nullptr);
        } catch (const Error& error) {
            code = error.code;
        }
        CHECK_EQUAL(code, "OutOfDeviceMemory");
        CHECK(!store->isPlaced(0));
        CHECK_EQUAL(device->ledger().snapshot().held[0], uint64_t{0});
        store->place(0, true, nullptr);
        seen(*store, "a", 1);
    });
    CHECK_EQUAL(store->stats(0).copiedBytes, uint64_t{0});
    on(device, [&] { store->unplaceAll(); });
    device->shutdown();
}

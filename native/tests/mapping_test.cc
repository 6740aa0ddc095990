// Weights that a device reads where they lie: how imports are cut, and that whatever goes first, nothing
// reads memory that is gone (under a sanitizer) or keeps a file that nobody uses.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backends.h"
#include "check.h"
#include "device.h"
#include "import_plan.h"
#include "weight_store.h"

using namespace mizuoto;
namespace fs = std::filesystem;

namespace {

const uint8_t* at(uintptr_t address) {
    return reinterpret_cast<const uint8_t*>(address);
}

constexpr int kRows = 4;
constexpr int kWidth = 1000;

/** A folder of this run's own, with ggml's processor alone: drivers of graphics devices leak. */
class Workshop {
  public:
    Workshop() {
        std::random_device random;
        folder_ = fs::temp_directory_path() / ("mizuoto-mapping-" + std::to_string(random()));
        fs::create_directories(folder_);
        for (const auto& entry : fs::directory_iterator(MIZUOTO_GGML_DIR)) {
            const std::string name = entry.path().filename().string();
            if (name.find("ggml-cpu") != std::string::npos) fs::copy_file(entry.path(), folder_ / name);
        }
        loadBackends(folder_.string());
    }
    ~Workshop() {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    /** Two matrices of 32-bit floats, `a` of ones and `b` of twos, the second `gap` bytes after the first. */
    std::string file(const std::string& name, size_t gap = 0) const {
        const size_t bytes = kRows * kWidth * sizeof(float);
        const auto tensor = [&](const char* key, size_t begin) {
            return std::string("\"") + key + "\":{\"dtype\":\"F32\",\"shape\":[4,1000],\"data_offsets\":[" +
                   std::to_string(begin) + "," + std::to_string(begin + bytes) + "]}";
        };
        std::string header = "{" + tensor("a", 0) + ",";
        if (gap > 0) {
            header += "\"gap\":{\"dtype\":\"U8\",\"shape\":[" + std::to_string(gap) + "],\"data_offsets\":[" +
                      std::to_string(bytes) + "," + std::to_string(bytes + gap) + "]},";
        }
        header += tensor("b", bytes + gap) + "}";
        header.resize((header.size() + 63) / 64 * 64 + 56, ' ');
        const fs::path path = folder_ / name;
        std::ofstream out(path, std::ios::binary);
        const uint64_t length = header.size();
        out.write(reinterpret_cast<const char*>(&length), sizeof length);
        out << header;
        for (const float value : {1.0F, 2.0F}) {
            const std::vector<float> values(kRows * kWidth, value);
            out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(bytes));
            if (value == 1.0F) out << std::string(gap, 'x');
        }
        return path.string();
    }

  private:
    fs::path folder_;
};

Workshop& workshop() {
    static Workshop shop;
    return shop;
}

/** Runs on the device's thread; what is thrown there is thrown here. */
void on(const std::shared_ptr<Device>& device, const std::function<void()>& body) {
    std::packaged_task<void()> task(body);
    auto done = task.get_future();
    device->post([&task] { task(); });
    done.get();
}

std::shared_ptr<Device> simulated() {
    workshop();
    DeviceOptions options;
    options.name = "CPU";
    options.threads = 1;
    options.simulateBytes = uint64_t{1} << 30;
    auto device = Device::create(options);
    on(device, [&] { device->open(); });
    return device;
}

std::shared_ptr<WeightStore> storeOf(const std::shared_ptr<const Checkpoint>& checkpoint,
                                     const std::vector<std::string>& names = {"a", "b"}) {
    std::vector<WeightSpec> specs;
    for (const std::string& name : names) {
        WeightSpec spec;
        spec.name = name;
        spec.shape = {kRows, kWidth};
        spec.unit = static_cast<int>(specs.size());
        spec.source.checkpoint = checkpoint;
        spec.source.tensor = &checkpoint->at(name);
        specs.push_back(std::move(spec));
    }
    return std::make_shared<WeightStore>("test", std::move(specs));
}

/** The buffer that a placed weight is in, after its values were seen to be `value`. */
ggml_backend_buffer_t seen(WeightStore& store, const std::string& name, float value) {
    ggml_tensor leaf{};
    leaf.type = GGML_TYPE_F32;
    leaf.ne[0] = kWidth;
    leaf.ne[1] = kRows;
    leaf.ne[2] = leaf.ne[3] = 1;
    leaf.nb[0] = sizeof(float);
    leaf.nb[1] = leaf.nb[0] * kWidth;
    leaf.nb[2] = leaf.nb[3] = leaf.nb[1] * kRows;
    store.bindResident(&leaf, store.indexOf(name));
    std::vector<float> values(kRows * kWidth);
    ggml_backend_tensor_get(&leaf, values.data(), 0, values.size() * sizeof(float));
    for (const float found : values) {
        if (found == value) continue;
        CHECK_EQUAL(found, value);
        break;
    }
    return leaf.buffer;
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

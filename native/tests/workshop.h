#pragma once

// What the tests of weights share: files, simulated devices, components of two matrices.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backends.h"
#include "check.h"
#include "device.h"
#include "weight_store.h"

namespace workbench {

using namespace mizuoto;

/** Rows and columns of a matrix. More than a megabyte each: less is not page-locked where it lies. */
constexpr int kRows = 400;
constexpr int kWidth = 1000;

/** A folder of this run's own, with ggml's processor alone: drivers of graphics devices leak. */
class Workshop {
  public:
    Workshop() {
        std::random_device random;
        folder_ = std::filesystem::temp_directory_path() / ("mizuoto-weights-" + std::to_string(random()));
        std::filesystem::create_directories(folder_);
        for (const auto& entry : std::filesystem::directory_iterator(MIZUOTO_GGML_DIR)) {
            const std::string name = entry.path().filename().string();
            if (name.find("ggml-cpu") != std::string::npos)
                std::filesystem::copy_file(entry.path(), folder_ / name);
        }
        loadBackends(folder_.string());
    }
    ~Workshop() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    /** Two matrices of 32-bit floats, `a` of ones and `b` of twos, the second `gap` bytes after the first. */
    std::string file(const std::string& name, size_t gap = 0) const {
        const size_t bytes = kRows * kWidth * sizeof(float);
        const auto tensor = [&](const char* key, size_t begin) {
            return std::string("\"") + key + "\":{\"dtype\":\"F32\",\"shape\":[" + std::to_string(kRows) +
                   "," + std::to_string(kWidth) + "],\"data_offsets\":[" + std::to_string(begin) + "," +
                   std::to_string(begin + bytes) + "]}";
        };
        std::string header = "{" + tensor("a", 0) + ",";
        if (gap > 0) {
            header += "\"gap\":{\"dtype\":\"U8\",\"shape\":[" + std::to_string(gap) + "],\"data_offsets\":[" +
                      std::to_string(bytes) + "," + std::to_string(bytes + gap) + "]},";
        }
        header += tensor("b", bytes + gap) + "}";
        header.resize((header.size() + 63) / 64 * 64 + 56, ' ');
        const std::filesystem::path path = folder_ / name;
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
    std::filesystem::path folder_;
};

inline Workshop& workshop() {
    static Workshop shop;
    return shop;
}

/** Runs on the device's thread; what is thrown there is thrown here. */
inline void on(const std::shared_ptr<Device>& device, const std::function<void()>& body) {
    std::packaged_task<void()> task(body);
    auto done = task.get_future();
    device->post([&task] { task(); });
    done.get();
}

inline std::shared_ptr<Device> simulated(bool locksHostMemory = false) {
    workshop();
    DeviceOptions options;
    options.name = "CPU";
    options.threads = 1;
    options.simulateBytes = uint64_t{1} << 30;
    options.locksHostMemory = locksHostMemory;
    auto device = Device::create(options);
    on(device, [&] { device->open(); });
    return device;
}

inline std::shared_ptr<WeightStore> storeOf(const std::shared_ptr<const Checkpoint>& checkpoint,
                                            const std::vector<std::string>& names = {"a", "b"},
                                            ggml_type type = GGML_TYPE_F32) {
    std::vector<WeightSpec> specs;
    for (const std::string& name : names) {
        WeightSpec spec;
        spec.name = name;
        spec.shape = {kRows, kWidth};
        spec.type = type;
        spec.unit = static_cast<int>(specs.size());
        spec.source.checkpoint = checkpoint;
        spec.source.tensor = &checkpoint->at(name);
        specs.push_back(std::move(spec));
    }
    return std::make_shared<WeightStore>("test", std::move(specs));
}

/** The buffer that a placed weight is in, after its values were seen to be `value`. */
inline ggml_backend_buffer_t seen(WeightStore& store, const std::string& name, float value) {
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

}  // namespace workbench

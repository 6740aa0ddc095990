#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cancel.h"
#include "device.h"
#include "host_weight.h"
#include "mapping.h"
#include "pinned_unit.h"
#include "unit_place.h"

namespace mizuoto {

struct WeightSpec {
    std::string name;
    Shape shape;
    ggml_type type = GGML_TYPE_F32;
    /** -1 = fixed part. */
    int unit = -1;
    WeightSource source;
};

/** A piece of host memory that belongs at an offset of a unit's place on the device. */
struct UnitPiece {
    const uint8_t* data = nullptr;
    size_t offset = 0;
    size_t bytes = 0;
};

/** What one unit has cost so far. */
struct UnitStats {
    uint64_t copies = 0;
    uint64_t copiedBytes = 0;
    double copySeconds = 0;
    /** Of its place now: read where they lie in host memory; asked to be, and refused by the device. */
    uint64_t mappedBytes = 0;
    uint64_t refusedBytes = 0;
    uint64_t runs = 0;
    double computeSeconds = 0;
};

/**
 * The weights of one component: host side, and which units are on the device. What is not marked otherwise
 * runs on the thread of the bound device.
 */
class WeightStore : public std::enable_shared_from_this<WeightStore> {
  public:
    /** Throws InvalidArgument, ShapeMismatch, UnsupportedDType. Any thread. */
    WeightStore(std::string component, std::vector<WeightSpec> specs);
    ~WeightStore();
    WeightStore(const WeightStore&) = delete;
    WeightStore& operator=(const WeightStore&) = delete;

    // From any thread.
    uint64_t id() const { return id_; }
    const std::string& component() const { return component_; }
    int unitCount() const { return static_cast<int>(units_.size()) - 1; }
    /** Throws InvalidArgument that names the component. */
    int indexOf(std::string_view name) const;
    const std::string& nameOf(int weight) const { return weights_[index(weight)]->name; }
    const Shape& shapeOf(int weight) const { return weights_[index(weight)]->shape; }
    ggml_type typeOf(int weight) const { return weights_[index(weight)]->type; }
    int unitOf(int weight) const { return weights_[index(weight)]->unit; }
    /** With the bound device's padding, or the CPU's before `bind`. */
    size_t unitBytes(int unit) const;
    size_t ownedHostBytes() const { return ownedHostBytes_.load(); }
    /** Device bytes of placed weights that are read where they lie in host memory. */
    size_t mappedBytes() const { return mappedBytes_.load(); }
    bool isPlaced(int unit) const;
    /** Bytes uploaded by streaming. */
    uint64_t streamedBytes() const { return streamedBytes_.load(); }
    UnitStats stats(int unit) const;
    /** Throws InvalidArgument while something is placed. */
    void bind(const std::shared_ptr<Device>& device);
    const std::shared_ptr<Device>& device() const { return device_; }
    /** Throws InvalidArgument before `bind`. */
    const std::shared_ptr<Device>& requireDevice() const;
    /** Counts work that is queued for the bound device: `bind` is refused while there is any. JavaScript's
     * thread. */
    void announceWork(int delta) { announced_ += delta; }
    void dispose() { disposed_ = true; }
    void requireAlive() const;
    /** What is not pinned stays so. On JavaScript's thread; what has to be done follows on the device's. */
    void requestUnpin(int unit);
    /** Bytes beside the checkpoint's that the unit's host side has, or will have once it is used. */
    size_t ownedBytes(int unit) const { return units_[slot(unit)]->ownedBytes.load(); }

    // On the device's thread.
    /**
     * Page-lock the unit's host side: where it lies, or moved into a buffer of the backend, where values that
     * are still to be converted are written at once. Returns bytes locked; 0 where the device has no such
     * memory, has none left, or the weights cannot be read or it was cancelled (placing them says why).
     */
    size_t pin(int unit, const CancelPointer& cancel);
    /** `inPlace`: weights that the device can read where they lie are not copied. */
    size_t place(int unit, bool inPlace, const CancelPointer& cancel);
    size_t unplace(int unit);
    void unplaceAll();
    void replace(int weight, const uint8_t* data);
    /** Host memory of a placed unit that its checkpoint can give again. Returns bytes freed. */
    size_t dropHost(int unit);
    void noteStreamed(size_t bytes) { streamedBytes_ += bytes; }
    /** One of the unit's segments ran this long. */
    void noteRun(int unit, double seconds);
    /** Grows whenever a leaf that was bound before must be bound again. */
    uint64_t epoch() const { return epoch_; }
    /** Grows whenever the values of a unit change. */
    uint64_t version(int unit) const { return units_[slot(unit)]->version; }
    /** Binds a leaf to the weight's resident place; leaves it without data where there is none. */
    void bindResident(ggml_tensor* leaf, int weight);
    /** Binds a leaf inside a copy of its unit that starts at `base`. */
    void bindAt(ggml_tensor* leaf, int weight, ggml_backend_buffer_t buffer, uint8_t* base) const;
    /** Host memory of a unit, ready to be copied. Pinned memory comes as one piece. */
    std::vector<UnitPiece> pieces(int unit);
    /**
     * The same for a copy that nobody has asked for: none where the unit is placed or has more than `most`
     * bytes, or where the store is disposed of or bound elsewhere. On the thread of `device`.
     */
    std::optional<std::vector<UnitPiece>> piecesAhead(const Device& device, int unit, size_t most);
    bool isPinned(int unit) const { return units_[slot(unit)]->pinned != nullptr; }
    /** Throws where a checkpoint behind these weights was changed since it was opened. */
    void checkSources() const;
    const std::vector<int>& weightsOf(int unit) const { return units_[slot(unit)]->weights; }

    static void unbind(ggml_tensor* leaf);

  private:
    struct Weight {
        std::string name;
        Shape shape;
        ggml_type type;
        int unit;
        HostWeight host;
        ggml_tensor* layout = nullptr;
        /** Bytes, and place within the unit, on the device. */
        size_t bytes = 0;
        size_t offset = 0;
        /** Position within its unit. */
        size_t inUnit = 0;
        /** Its owned host memory was given up until it is next needed. */
        bool dropped = false;
        /** Host devices: a buffer that spans the host side. */
        ggml_backend_buffer_t hostBuffer = nullptr;
    };
    struct Unit {
        std::vector<int> weights;
        size_t deviceBytes = 0;
        /** Null: not on the device. */
        std::unique_ptr<UnitPlace> place;
        std::unique_ptr<PinnedUnit> pinned;
        std::atomic<bool> isPinned{false};
        std::atomic<size_t> ownedBytes{0};
        /** Locks of others on memory that this unit reads, too: they stay as long as it may. */
        std::vector<std::shared_ptr<HostLock>> touched;
        std::atomic<uint64_t> version{0};
        UnitStats stats;
        std::atomic<bool> placed{false};
    };

    static size_t index(int weight) { return static_cast<size_t>(weight); }
    /** The fixed part (-1) is kept first. Throws InvalidArgument. */
    size_t slot(int unit) const;
    void layOut(ggml_backend_buffer_type_t type, size_t alignment);
    Mapping mappingFor(const Device& device) const;
    /** All of a unit that is not mapped. Returns bytes copied; `taken` grows by the time that the copies
     * took. */
    size_t uploadUnit(Unit& unit, const UnitPlace& place, std::chrono::duration<double>& taken,
                      const CancelPointer& cancel);
    /** Tests order copies to fail. */
    void failIfOrdered(const Weight& weight) const;
    void upload(Unit& unit, const Weight& weight, const UnitPlace& place, const CancelPointer& cancel);
    void copyTo(ggml_tensor& target, const std::vector<HostRange>& ranges, const CancelPointer& cancel);
    /** Cut where page-locked memory begins or ends. */
    std::vector<HostRange> rangesOf(Unit& unit, const HostRange& source) const;
    std::vector<PinnedUnit::Source> sourcesOf(const Unit& unit) const;
    /** All values of the unit into this memory, laid out as on the device. Throws, and all is as before. */
    void lodge(Unit& unit, uint8_t* memory, const CancelPointer& cancel);
    /** False where host memory does not suffice: what is lodged stays so. */
    bool dislodge(Unit& unit);
    void unpin(int unit);
    /** Nothing may be copied from the unit's host memory meanwhile. */
    void setPinned(Unit& unit, std::unique_ptr<PinnedUnit> pinned);
    void throwIfStopped(const CancelPointer& cancel) const;
    /** Takes note of where the unit is now. */
    void settle(Unit& unit, std::unique_ptr<UnitPlace> place);
    void noteMapped(Unit& unit);
    /** The host side, read from the checkpoint where it is not there. */
    void materialise(Weight& weight, const CancelPointer& cancel = nullptr);
    void refreshHostBuffer(Weight& weight);
    void touch(Unit& unit);
    /** The device that the store was bound to before reads its host memory no more. */
    void awaitDeparture() const;

    uint64_t id_;
    std::string component_;
    std::vector<std::unique_ptr<Weight>> weights_;
    std::vector<std::unique_ptr<Unit>> units_;
    std::unordered_map<std::string, int> byName_;
    std::unique_ptr<ggml_context, void (*)(ggml_context*)> layoutContext_;
    std::vector<std::shared_ptr<const Checkpoint>> checkpoints_;
    std::shared_ptr<Device> device_;
    Mapping mapping_;
    std::atomic<size_t> ownedHostBytes_{0};
    std::atomic<size_t> mappedBytes_{0};
    std::atomic<uint64_t> streamedBytes_{0};
    mutable std::mutex statsMutex_;
    std::atomic<bool> disposed_{false};
    int announced_ = 0;
    /** Moves out of page-locked memory on their way; each holds one reference. */
    std::shared_ptr<int> unpinning_ = std::make_shared<int>(0);
    /** As `pinning_`, for devices that were told that the store has left them. */
    std::shared_ptr<int> departing_ = std::make_shared<int>(0);
    /** Held while the store goes to another device, and while one looks at it unasked. */
    std::mutex bindMutex_;
    uint64_t epoch_ = 1;
};

}  // namespace mizuoto

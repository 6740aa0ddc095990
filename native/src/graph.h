#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "arena.h"
#include "cancel.h"
#include "layout.h"
#include "schedule.h"

namespace mizuoto {

/** One run, prepared on JavaScript's thread. Everything it points to outlives the run. */
struct RunRequest {
    struct Write {
        size_t input;
        std::vector<uint8_t> data;
    };
    struct Read {
        size_t output;
        uint8_t* target;
    };
    std::vector<Write> writes;
    std::vector<Read> reads;
    CancelPointer cancel;
    /** Finished and all segments; called often. */
    std::function<void(size_t, size_t)> progress;
};

/**
 * A compiled graph. Takes memory at its first run (inputs, constants, outputs in a buffer of their own; the
 * rest in the arena) and again when the arena's was given up. Runs on the device's thread.
 */
class Graph : public std::enable_shared_from_this<Graph> {
  public:
    /** Throws InvalidArgument, UnsupportedOp. */
    Graph(Recording recording, std::unique_ptr<Layout> layout, std::shared_ptr<Device> device,
          std::shared_ptr<Arena> arena);
    ~Graph();

    const std::shared_ptr<Device>& device() const { return device_; }
    const GraphPlan& plan() const { return layout_->plan; }
    const Recording& recording() const { return recording_; }
    /** Stores whose weights the graph reads. */
    const std::vector<std::shared_ptr<WeightStore>>& stores() const { return stores_; }
    /** Index into `Recording::inputs`. Throws InvalidArgument. */
    size_t inputOf(int handle) const;
    size_t outputOf(int handle) const;
    /** Throws InvalidArgument when ids in an input lie beyond the rows they look into. */
    void checkIndices(size_t input, const std::vector<uint8_t>& data) const;

    void run(const RunRequest& request);
    /** Gives its own buffer back. */
    void dispose();

  private:
    class Progress;

    void takeIo();
    void write(const RunRequest& request);
    void bindWeights();
    void bindStates();
    void bindViews(const ggml_tensor* root);
    void allocate();
    void execute(const RunRequest& request);
    ggml_status computeOnThreads(const Call& call, Progress& progress);
    void compute(const Call& call, Progress& progress, const CancelPointer& cancel);
    void profile(const Call& call, Progress& progress, const CancelPointer& cancel);
    void read(const RunRequest& request) const;
    void bindStreamed(const Call& call, const Streamer::Pass::Place* place);
    [[noreturn]] void stopped(const CancelPointer& cancel) const;

    Recording recording_;
    std::unique_ptr<Layout> layout_;
    std::shared_ptr<Device> device_;
    std::shared_ptr<Arena> arena_;
    std::vector<std::shared_ptr<WeightStore>> stores_;

    std::unique_ptr<DeviceBuffer> io_;
    std::vector<bool> written_;
    uint64_t arenaGeneration_ = 0;
    /** What the leaves' bindings and the schedule were made for. */
    std::vector<uint64_t> boundEpochs_;
    uint64_t boundStreamer_ = 0;
    bool boundProfiling_ = false;
    std::unique_ptr<Schedule> schedule_;
    bool disposed_ = false;
};

}  // namespace mizuoto

#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "cancel.h"
#include "graph.h"
#include "kernel_nodes.h"
#include "thread_policy.h"

namespace mizuoto {

/**
 * Counts what a run has finished. Inside one long call of the CPU backend it is told after each node, so
 * progress and cancel do not wait for the call's end.
 */
class Graph::Progress final : public Device::NodeObserver {
  public:
    Progress(const Layout& layout, const RunRequest& request, ThreadPolicy* threads)
        : layout_(layout), request_(request), threads_(threads) {
        report();
    }

    void begin(const Call& call) {
        segment_ = call.firstSegment;
        end_ = call.endSegment;
        node_ = layout_.segments[segment_].first;
    }

    void finish(const Call& call) {
        segment_ = call.endSegment;
        report();
    }

    bool keepGoing() override {
        // Which node that was is known of our kernels alone; what ggml fuses is its own affair.
        const ggml_tensor* kernel = takeLastKernelNode();
        if (request_.cancel && request_.cancel->cancelled()) return false;
        // Views are not reported, fused nodes once: the count may lag, and `finish` corrects it.
        do {
            ++node_;
        } while (node_ < layout_.nodes.size() && isViewOnly(layout_.nodes[node_].tensor));
        if (segment_ + 1 < end_ && node_ >= layout_.segments[segment_].end) {
            ++segment_;
            report();
        }
        if (kernel == nullptr || threads_ == nullptr || !threads_->wantsChange()) return true;
        pause_ = kernel;
        return false;
    }

    /** The node after which the call stopped to go on with another number of threads, once; null if it did
     * not. */
    const ggml_tensor* takePause() { return std::exchange(pause_, nullptr); }

  private:
    void report() const {
        if (request_.progress) request_.progress(segment_, layout_.segments.size());
    }

    const Layout& layout_;
    const RunRequest& request_;
    ThreadPolicy* threads_;
    const ggml_tensor* pause_ = nullptr;
    size_t segment_ = 0;
    size_t end_ = 0;
    size_t node_ = 0;
};

}  // namespace mizuoto

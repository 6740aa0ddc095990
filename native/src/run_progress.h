#pragma once

#include <cstddef>
#include <functional>

#include "cancel.h"
#include "graph.h"

namespace mizuoto {

/**
 * Counts what a run has finished. Inside one long call of the CPU backend it is told after each node, so
 * progress and cancel do not wait for the call's end.
 */
class Graph::Progress final : public Device::NodeObserver {
  public:
    Progress(const Layout& layout, const RunRequest& request) : layout_(layout), request_(request) {
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
        if (request_.cancel && request_.cancel->cancelled()) return false;
        // Views are not reported, fused nodes once: the count may lag, and `finish` corrects it.
        do {
            ++node_;
        } while (node_ < layout_.nodes.size() && isViewOnly(layout_.nodes[node_].tensor));
        if (segment_ + 1 < end_ && node_ >= layout_.segments[segment_].end) {
            ++segment_;
            report();
        }
        return true;
    }

  private:
    void report() const {
        if (request_.progress) request_.progress(segment_, layout_.segments.size());
    }

    const Layout& layout_;
    const RunRequest& request_;
    size_t segment_ = 0;
    size_t end_ = 0;
    size_t node_ = 0;
};

}  // namespace mizuoto

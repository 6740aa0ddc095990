#pragma once

#include <memory>
#include <vector>

#include "host_import.h"
#include "host_weight.h"

namespace mizuoto {

/**
 * Which weights of a component a device could read where they lie in their checkpoint, and by which imports.
 * Of a device that cannot, none.
 */
class Mapping {
  public:
    struct Candidate {
        const HostWeight* host = nullptr;
        /** What the device's buffers want for it. */
        size_t deviceBytes = 0;
    };
    struct Window {
        std::shared_ptr<const Checkpoint> file;
        const uint8_t* data = nullptr;
        size_t bytes = 0;
        /** The device did not take it. */
        bool refused = false;
    };

    Mapping() = default;
    Mapping(const Device& device, const std::vector<Candidate>& weights);

    /** Null where the weight has to be copied. */
    Window* windowOf(size_t weight);

  private:
    std::vector<Window> windows_;
    std::vector<int> windowOf_;
};

}  // namespace mizuoto

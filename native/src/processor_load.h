#pragma once

#include <optional>

namespace mizuoto {

/** What the processors have done so far, in processor seconds; only differences mean something. */
struct ProcessorTimes {
    /** Of the processors that this process may use, all together. */
    double idle = 0;
    double total = 0;
    /** This process's share. */
    double own = 0;
};

/**
 * Nothing where the system does not tell of the processors that this process may use. The system counts in
 * steps of 10 to 16 ms: differences over less than a quarter of a second are coarse. Takes some 20 us.
 */
std::optional<ProcessorTimes> processorTimes();

/** Processors that this process may use, at least 1. */
int usableProcessors();

}  // namespace mizuoto

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace fuzz {

/** Prints why and ends the process: the one way in which fuzzing fails apart from a crash. */
[[noreturn]] void broken(const std::string& why);

/**
 * Opens the buffers and, where they are a checkpoint, reads all of it by every reader. Anything but success
 * or a well-formed mizuoto::Error is `broken`. True where the buffers were a checkpoint.
 */
bool exerciseBuffers(std::vector<mizuoto::CheckpointBuffer> buffers);

/** The same through files. */
bool exerciseFiles(const std::vector<std::string>& paths);

}  // namespace fuzz

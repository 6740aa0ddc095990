#pragma once

#include "ggml-backend.h"

namespace mizuoto {

/**
 * For Mesa's software Vulkan driver (lavapipe 22.3 of Debian 12), on the thread of a device that it plays: a
 * buffer that ggml destroys on this thread gives its memory back, but stays known to the driver (some hundred
 * bytes).
 *
 * ggml's descriptor sets have twelve bindings. An operation writes those that it reads; the others still name
 * what an earlier one read. Vulkan allows that, but lavapipe counts references to every buffer that a bound
 * set names (handle_descriptor in lvp_execute.c, pipe_resource_reference in u_inlines.h). Where that buffer
 * was destroyed it counts in freed memory. ggml-vulkan destroys buffers itself when its scratch memory grows,
 * such as that for flash attention's partial sums.
 *
 * Does nothing where ggml or the driver's loader is built otherwise.
 */
void keepDestroyedBuffers(ggml_backend_dev_t device);

}  // namespace mizuoto

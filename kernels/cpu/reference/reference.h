// The judge: plain loops over raw blocks, sums in double, keys and values in float32. Every other
// backend is compared with it, so it stays dull; rows of a product are shared among threads.
#pragma once

#include <memory>

#include "kernels/cpu/host_memory.h"
#include "kernels/ops.h"

namespace foretoken::kernels {

/// All memory (buffers, weights, keys and values) comes from `allocate`.
std::unique_ptr<Backend> make_reference_backend(HostAllocator allocate = allocate_host_memory,
                                                int threads = 1);

}  // namespace foretoken::kernels

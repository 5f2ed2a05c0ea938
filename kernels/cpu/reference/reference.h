// The judge: plain loops over raw blocks, sums in double, keys and values in float32. Never
// optimised; every other backend is compared with it.
#pragma once

#include <memory>

#include "kernels/cpu/host_memory.h"
#include "kernels/ops.h"

namespace foretoken::kernels {

/// All memory (buffers, weights, keys and values) comes from `allocate`.
std::unique_ptr<Backend> make_reference_backend(HostAllocator allocate = allocate_host_memory);

}  // namespace foretoken::kernels

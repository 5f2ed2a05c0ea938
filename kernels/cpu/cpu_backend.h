// The SIMD backends: one stream that cuts operations into pieces for the thread pool, over the
// table of kernels of one instruction set.
#pragma once

#include <memory>

#include "kernels/cpu/simd/kernels.h"

namespace foretoken::kernels {

std::unique_ptr<Backend> make_cpu_backend(const CpuKernels& kernels, int threads);

}  // namespace foretoken::kernels

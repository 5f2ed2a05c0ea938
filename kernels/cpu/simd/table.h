// The table of kernels of one vector type. Included once per instruction set.
#pragma once

#include "kernels/cpu/simd/attention.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/cpu/simd/matmul.h"

namespace foretoken::kernels::simd {

template <class V>
constexpr CpuKernels kernel_table(const char* name) {
  return {name,       V::kPanels,      V::kDirectRows, V::kQueries, quantize<V>,
          matmul<V>,  matmul_plain<V>, rms_norm<V>,    silu_mul<V>, rope<V>,
          store_k<V>, store_v<V>,      attention<V>,   select<V>};
}

}  // namespace foretoken::kernels::simd

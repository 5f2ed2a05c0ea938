// Compiled with AVX2, FMA and F16C; entered only where the processor has them.
#include "kernels/cpu/simd/table.h"
#include "kernels/cpu/simd/vec_avx2.h"

namespace foretoken::kernels {

const CpuKernels& avx2_kernels() {
  static constexpr CpuKernels kTable = simd::kernel_table<Avx2>("avx2");
  return kTable;
}

}  // namespace foretoken::kernels

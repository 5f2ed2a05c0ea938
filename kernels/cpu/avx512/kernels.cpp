// Compiled with AVX-512 F/BW/DQ/VL/VNNI; entered only where the processor has them.
#include "kernels/cpu/simd/table.h"
#include "kernels/cpu/simd/vec_avx512.h"

namespace foretoken::kernels {

const CpuKernels& avx512_kernels() {
  static constexpr CpuKernels kTable = simd::kernel_table<Avx512>("avx512");
  return kTable;
}

}  // namespace foretoken::kernels

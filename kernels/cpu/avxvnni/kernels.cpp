// Backend avx2 on processors with AVX-VNNI: the same bits, faster products. Compiled with AVX2,
// FMA, F16C and AVX-VNNI; entered only where the processor has them.
#include "kernels/cpu/simd/table.h"
#include "kernels/cpu/simd/vec_vnni256.h"

namespace foretoken::kernels {
namespace {

struct AvxVnniDot {
  static __m256i dot(__m256i acc, __m256i u, __m256i s) {
    return _mm256_dpbusd_avx_epi32(acc, u, s);
  }
};

}  // namespace

const CpuKernels& avxvnni_kernels() {
  static constexpr CpuKernels kTable = simd::kernel_table<Vnni256<AvxVnniDot>>("avx2");
  return kTable;
}

}  // namespace foretoken::kernels

// 12 independent chains of vpdpbusd: 64 multiply-adds each.
#include <immintrin.h>

#include "kernels/peaks.h"

namespace foretoken::kernels {

double int8_rounds_avx512(int rounds) {
  __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(1);
  __m512i sum[12] = {};
  for (auto& s : sum) asm volatile("" : "+v"(s));  // twelve sums, not one computed for all
  for (int n = 0; n < rounds; ++n) {
    asm volatile("" : "+v"(a), "+v"(b));  // the same operands, but the compiler must not know it
#pragma GCC unroll 12
    for (auto& s : sum) s = _mm512_dpbusd_epi32(s, a, b);
  }
  for (const auto& s : sum) asm volatile("" : : "v"(s));
  return double(rounds) * 12 * 64;
}

}  // namespace foretoken::kernels

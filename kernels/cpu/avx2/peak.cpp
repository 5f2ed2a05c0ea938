// 12 independent chains of vpmaddubsw, vpmaddwd, vpaddd: 32 multiply-adds each.
#include <immintrin.h>

#include "kernels/peaks.h"

namespace foretoken::kernels {

double int8_rounds_avx2(int rounds) {
  __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(1), ones = _mm256_set1_epi16(1);
  __m256i sum[12] = {};
  for (auto& s : sum) asm volatile("" : "+x"(s));  // twelve sums, not one computed for all
  for (int n = 0; n < rounds; ++n) {
#pragma GCC unroll 12
    for (auto& s : sum) {
      asm volatile("" : "+x"(a));  // each product anew
      s = _mm256_add_epi32(s, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    }
  }
  for (const auto& s : sum) asm volatile("" : : "x"(s));
  return double(rounds) * 12 * 32;
}

}  // namespace foretoken::kernels

// AVX2 with a 256-bit dot product of four bytes in one instruction (AVX-VNNI, most client
// processors since 2021). `Dot` is that instruction: its encoding differs between AVX-VNNI and
// AVX-512 VL.
#pragma once

#include "kernels/cpu/simd/vec_avx2.h"

namespace foretoken::kernels {

template <class Dot>
struct Vnni256 : Avx2 {
  static constexpr bool kSignedBytes = false;
  static constexpr bool kPartialSums = false;
  static I dot(I acc, B w, I a) {
    return {Dot::dot(acc.lo, w.lo, a.lo), Dot::dot(acc.hi, w.hi, a.hi)};
  }
  static I dot_bytes(I acc, B w, I a) { return dot(acc, w, a); }
};

}  // namespace foretoken::kernels

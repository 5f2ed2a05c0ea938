// Sixteen lanes as two halves of AVX2 (with FMA and F16C). Without VNNI a dot is two instructions,
// and maddubs would saturate on whole unsigned bytes: those take the |w| * sign(a, w) form.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace foretoken::kernels {

struct Avx2 {
  struct F {
    __m256 lo, hi;
  };
  struct I {
    __m256i lo, hi;
  };
  using B = I;
  static constexpr int kPanels = 1, kTokens = 4, kDirect = 4, kDirectRows = 4;
  static constexpr int kPlainPanels = 1, kPlainTokens = 4;
  static constexpr int kQueries = 6, kVectors = 1;
  static constexpr bool kSignedBytes = true;  // dot_bytes() takes the stored 128 off itself

  static F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static void store(float* p, F v) {
    _mm256_storeu_ps(p, v.lo);
    _mm256_storeu_ps(p + 8, v.hi);
  }
  static __m256i lane_numbers() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static I mask(int n) {
    return {_mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane_numbers()),
            _mm256_cmpgt_epi32(_mm256_set1_epi32(n - 8), lane_numbers())};
  }
  static F load_n(const float* p, int n) {
    const I m = mask(n);
    return {_mm256_maskload_ps(p, m.lo), _mm256_maskload_ps(p + 8, m.hi)};
  }
  static void store_n(float* p, F v, int n) {
    const I m = mask(n);
    _mm256_maskstore_ps(p, m.lo, v.lo);
    _mm256_maskstore_ps(p + 8, m.hi, v.hi);
  }
  static float first(F v) { return _mm256_cvtss_f32(v.lo); }
  static F set1(float v) { return {_mm256_set1_ps(v), _mm256_set1_ps(v)}; }
  static F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static F add(F a, F b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
  static F sub(F a, F b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
  static F mul(F a, F b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
  static F div(F a, F b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
  static F fma(F a, F b, F c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
  }
  static F fnma(F a, F b, F c) {
    return {_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
  }
  static F max(F a, F b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
  static F min(F a, F b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
  static float sum(F v) {
    const __m256 a = _mm256_add_ps(v.lo, v.hi);
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
  }
  static float largest(F v) {
    const __m256 a = _mm256_max_ps(v.lo, v.hi);
    const __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
  }
  static F abs(F a) {
    const __m256 m = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    return {_mm256_and_ps(a.lo, m), _mm256_and_ps(a.hi, m)};
  }
  static F first_n(F v, int n, F other) {
    const I m = mask(n);
    return {_mm256_blendv_ps(other.lo, v.lo, _mm256_castsi256_ps(m.lo)),
            _mm256_blendv_ps(other.hi, v.hi, _mm256_castsi256_ps(m.hi))};
  }
  static F where_clear(F v, uint32_t bits, F other) {
    const __m256i b = _mm256_set1_epi32(int(bits));
    const __m256i one = _mm256_set1_epi32(1);
    const __m256i lo = _mm256_and_si256(_mm256_srlv_epi32(b, lane_numbers()), one);
    const __m256i hi = _mm256_and_si256(
        _mm256_srlv_epi32(b, _mm256_add_epi32(lane_numbers(), _mm256_set1_epi32(8))), one);
    return {_mm256_blendv_ps(v.lo, other.lo, _mm256_castsi256_ps(_mm256_cmpeq_epi32(lo, one))),
            _mm256_blendv_ps(v.hi, other.hi, _mm256_castsi256_ps(_mm256_cmpeq_epi32(hi, one)))};
  }
  static bool any_nan(F a) {
    return _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(a.lo, a.lo, _CMP_UNORD_Q),
                                           _mm256_cmp_ps(a.hi, a.hi, _CMP_UNORD_Q))) != 0;
  }

  static F to_float(I a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
  static I to_int(F a) { return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }
  static I set1_int(int32_t v) { return {_mm256_set1_epi32(v), _mm256_set1_epi32(v)}; }
  static I zero_int() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static I add_int(I a, I b) {
    return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
  }
  static I sub_int(I a, I b) {
    return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
  }
  template <int n>
  static I shift_left(I a) {
    return {_mm256_slli_epi32(a.lo, n), _mm256_slli_epi32(a.hi, n)};
  }
  static I half_down(I a) { return {_mm256_srai_epi32(a.lo, 1), _mm256_srai_epi32(a.hi, 1)}; }
  static F power_of_two(I n) {
    const __m256i bias = _mm256_set1_epi32(127);
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n.lo, bias), 23)),
            _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n.hi, bias), 23))};
  }

  static F load_twice(const float* p) {
    const __m256 v = _mm256_loadu_ps(p);
    return {_mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3)),
            _mm256_permutevar8x32_ps(v, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7))};
  }
  static F swap_pairs(F v) {
    return {_mm256_permute_ps(v.lo, 0xb1), _mm256_permute_ps(v.hi, 0xb1)};
  }
  static F add_alternate(F a, F b) {
    return {_mm256_addsub_ps(a.lo, b.lo), _mm256_addsub_ps(a.hi, b.hi)};
  }

  static __m128i half_of(const void* p, int i) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p) + i);
  }
  static F load_half(const void* p) {
    return {_mm256_cvtph_ps(half_of(p, 0)), _mm256_cvtph_ps(half_of(p, 1))};
  }
  static void store_half(void* p, F v) {
    auto* to = static_cast<__m128i*>(p);
    _mm_storeu_si128(to, _mm256_cvtps_ph(v.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    _mm_storeu_si128(to + 1, _mm256_cvtps_ph(v.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static F load_bfloat(const void* p) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half_of(p, 0)), 16)),
            _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half_of(p, 1)), 16))};
  }
  static F load_u8(const void* p) {
    const __m128i v = half_of(p, 0);
    return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(v)),
            _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(v, 8)))};
  }
  static F load_i8(const void* p) {
    const __m128i v = half_of(p, 0);
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(v)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(v, 8)))};
  }
  static void store_i8(int8_t* p, I v) {
    const __m128i lo =
        _mm_packs_epi32(_mm256_castsi256_si128(v.lo), _mm256_extracti128_si256(v.lo, 1));
    const __m128i hi =
        _mm_packs_epi32(_mm256_castsi256_si128(v.hi), _mm256_extracti128_si256(v.hi, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(lo, hi));
  }

  static B load_bytes(const void* p) {
    const auto* from = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)};
  }
  static void store_bytes(void* p, B v) {
    auto* to = static_cast<__m256i*>(p);
    _mm256_storeu_si256(to, v.lo);
    _mm256_storeu_si256(to + 1, v.hi);
  }
  static B low_nibbles(B v) {
    const __m256i m = _mm256_set1_epi8(15);
    return {_mm256_and_si256(v.lo, m), _mm256_and_si256(v.hi, m)};
  }
  static B high_nibbles(B v) {
    return low_nibbles({_mm256_srli_epi16(v.lo, 4), _mm256_srli_epi16(v.hi, 4)});
  }
  template <int kShift, int kMask>
  static B merge(B base, B v) {
    B moved = v;
    if constexpr (kShift > 0) {
      moved = {_mm256_slli_epi32(v.lo, kShift), _mm256_slli_epi32(v.hi, kShift)};
    }
    if constexpr (kShift < 0) {
      moved = {_mm256_srli_epi32(v.lo, -kShift), _mm256_srli_epi32(v.hi, -kShift)};
    }
    const __m256i m = _mm256_set1_epi8(char(kMask));
    return {_mm256_or_si256(base.lo, _mm256_and_si256(moved.lo, m)),
            _mm256_or_si256(base.hi, _mm256_and_si256(moved.hi, m))};
  }

  static I broadcast4(const int8_t* a) {
    int32_t word;
    std::memcpy(&word, a, 4);
    return set1_int(word);
  }
  static __m256i dot_half(__m256i acc, __m256i u, __m256i s) {
    return _mm256_add_epi32(acc,
                            _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), _mm256_set1_epi16(1)));
  }
  // w below 64. Sums of two products in 16 bits, and those in 32.
  static constexpr bool kPartialSums = true;
  static I pairs(B w, I a) {
    return {_mm256_maddubs_epi16(w.lo, a.lo), _mm256_maddubs_epi16(w.hi, a.hi)};
  }
  static I add_pairs(I a, I b) {
    return {_mm256_add_epi16(a.lo, b.lo), _mm256_add_epi16(a.hi, b.hi)};
  }
  static I sum_pairs(I p) {
    const __m256i one = _mm256_set1_epi16(1);
    return {_mm256_madd_epi16(p.lo, one), _mm256_madd_epi16(p.hi, one)};
  }
  // w holds value + 128. |value| <= 128 and |a| <= 127: pairs stay within 2 * 128 * 127 < 2^15.
  static I dot_bytes(I acc, B w, I a) {
    const __m256i flip = _mm256_set1_epi8(char(0x80));
    const __m256i lo = _mm256_xor_si256(w.lo, flip), hi = _mm256_xor_si256(w.hi, flip);
    return {dot_half(acc.lo, _mm256_abs_epi8(lo), _mm256_sign_epi8(a.lo, lo)),
            dot_half(acc.hi, _mm256_abs_epi8(hi), _mm256_sign_epi8(a.hi, hi))};
  }
  static void prefetch_far(const void* p) {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1);
  }
  static void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
};

}  // namespace foretoken::kernels

// Sixteen lanes of AVX-512 (F, BW, DQ, VL, VNNI).
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace foretoken::kernels {

struct Avx512 {
  using F = __m512;   // 16 floats
  using I = __m512i;  // 16 int32
  using B = __m512i;  // 64 bytes
  // Register tiles: panels x tokens of a matmul, queries x position vectors of an attention.
  static constexpr int kPanels = 2, kTokens = 6, kDirect = 8, kDirectRows = 16;
  static constexpr int kPlainPanels = 4, kPlainTokens = 4;
  static constexpr int kQueries = 8, kVectors = 2;
  static constexpr bool kSignedBytes = false;  // whole bytes (Q8_0) meet dot() as unsigned

  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F v) { _mm512_storeu_ps(p, v); }
  static __mmask16 mask(int n) { return __mmask16((1u << n) - 1); }
  static F load_n(const float* p, int n) { return _mm512_maskz_loadu_ps(mask(n), p); }
  static void store_n(float* p, F v, int n) { _mm512_mask_storeu_ps(p, mask(n), v); }
  static float first(F v) { return _mm512_cvtss_f32(v); }
  static F set1(float v) { return _mm512_set1_ps(v); }
  static F zero() { return _mm512_setzero_ps(); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }  // b where one is NaN
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  // Of all lanes, always folded 8, 4, 2, 1 apart.
  static float sum(F v) {
    const __m256 a = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
  }
  static float largest(F v) {
    const __m256 a = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
  }
  static F abs(F a) { return _mm512_abs_ps(a); }
  // v in lanes below n, `other` above.
  static F first_n(F v, int n, F other) { return _mm512_mask_blend_ps(mask(n), other, v); }
  // v where bit i of bits is 0, `other` where it is 1.
  static F where_clear(F v, uint32_t bits, F other) {
    return _mm512_mask_blend_ps(__mmask16(bits), v, other);
  }
  static bool any_nan(F a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q) != 0; }

  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  static I to_int(F a) { return _mm512_cvtps_epi32(a); }  // half to even
  static I set1_int(int32_t v) { return _mm512_set1_epi32(v); }
  static I load_int(const int32_t* p) { return _mm512_loadu_si512(p); }
  static I zero_int() { return _mm512_setzero_si512(); }
  static I add_int(I a, I b) { return _mm512_add_epi32(a, b); }
  static I sub_int(I a, I b) { return _mm512_sub_epi32(a, b); }
  template <int n>
  static I shift_left(I a) {
    return _mm512_slli_epi32(a, n);
  }
  static I half_down(I a) { return _mm512_srai_epi32(a, 1); }
  static F power_of_two(I n) {  // -126 <= n <= 127
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23));
  }

  // 8 floats, each in two lanes; lanes 2i and 2i+1 exchanged; a - b in even lanes, a + b in odd.
  static F load_twice(const float* p) {
    const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_loadu_ps(p)));
  }
  static F swap_pairs(F v) { return _mm512_permute_ps(v, 0xb1); }
  static F add_alternate(F a, F b) { return _mm512_mask_sub_ps(_mm512_add_ps(a, b), 0x5555, a, b); }

  static F load_half(const void* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  }
  static void store_half(void* p, F v) {
    _mm256_storeu_si256(static_cast<__m256i*>(p),
                        _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static F load_bfloat(const void* p) {
    const __m256i h = _mm256_loadu_si256(static_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
  }
  static F load_u8(const void* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))));
  }
  static F load_i8(const void* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))));
  }
  static void store_i8(int8_t* p, I v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(v));
  }

  static B load_bytes(const void* p) { return _mm512_loadu_si512(p); }
  static void store_bytes(void* p, B v) { _mm512_storeu_si512(p, v); }
  static B sub_bytes(B v, int n) { return _mm512_sub_epi8(v, _mm512_set1_epi8(char(n))); }
  static B low_nibbles(B v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
  static B high_nibbles(B v) {
    return _mm512_and_si512(_mm512_srli_epi16(v, 4), _mm512_set1_epi8(15));
  }
  // base | (v shifted left by kShift (right where negative), & kMask), byte by byte.
  template <int kShift, int kMask>
  static B merge(B base, B v) {
    B moved = v;
    if constexpr (kShift > 0) moved = _mm512_slli_epi32(v, kShift);
    if constexpr (kShift < 0) moved = _mm512_srli_epi32(v, -kShift);
    return _mm512_ternarylogic_epi32(moved, _mm512_set1_epi8(char(kMask)), base, 0xea);  // ab | c
  }

  // acc[lane] += sum of w[lane][0..3] * a[0..3]; the four activations are the same in every lane.
  static I broadcast4(const int8_t* a) {
    int32_t word;
    std::memcpy(&word, a, 4);
    return _mm512_set1_epi32(word);
  }
  static constexpr bool kPartialSums = false;
  static I dot(I acc, B w, I a) { return _mm512_dpbusd_epi32(acc, w, a); }
  static I dot_bytes(I acc, B w, I a) { return _mm512_dpbusd_epi32(acc, w, a); }
  static void prefetch_far(const void* p) {  // to the second cache
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1);
  }
  static void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
};

}  // namespace foretoken::kernels

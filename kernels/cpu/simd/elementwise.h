// Row operations: quantising activations, rms_norm, silu_mul, rope, storing keys and values, and
// the scan of logits. Lane i of a vector is element i; tails are masked, so an element's bits do
// not depend on its place.
#pragma once

#include <cmath>

#include "kernels/cpu/simd/kernels.h"

namespace foretoken::kernels::simd {

/// e^x within 1 ulp of a few: x = n ln2 + r, |r| <= ln2 / 2, polynomial of degree 6 in r. Zero
/// below -104, infinity above 88.73, NaN stays.
template <class V>
inline typename V::F exp(typename V::F x) {
  using F = typename V::F;
  x = V::min(V::set1(89.0f), V::max(V::set1(-106.0f), x));  // the second operand wins on NaN
  const typename V::I n = V::to_int(V::mul(x, V::set1(1.44269504f)));
  const F nf = V::to_float(n);
  F r = V::fnma(nf, V::set1(0.693145752f), x);
  r = V::fnma(nf, V::set1(1.42860677e-6f), r);
  F p = V::set1(1.38888889e-3f);
  p = V::fma(p, r, V::set1(8.33333333e-3f));
  p = V::fma(p, r, V::set1(4.16666667e-2f));
  p = V::fma(p, r, V::set1(1.66666667e-1f));
  p = V::fma(p, r, V::set1(0.5f));
  p = V::fma(p, V::mul(r, r), r);
  p = V::add(p, V::set1(1.0f));
  // 2^n in two factors: n reaches from -153 to 128, beyond the exponents of one float.
  const typename V::I half = V::half_down(n);
  return V::mul(V::mul(p, V::power_of_two(half)), V::power_of_two(V::sub_int(n, half)));
}

template <class V>
void quantize(const float* x, const Activations& a, int row) {
  using F = typename V::F;
  const size_t first = size_t(row) * size_t(a.blocks);
  for (int b = 0; b < a.blocks; ++b, x += kBlock) {
    const size_t at = first + size_t(b);
    const F lo = V::load(x), hi = V::load(x + 16);
    const float largest = V::largest(V::max(V::abs(lo), V::abs(hi)));
    // x * 0 is NaN for NaN and infinity: such a block gets scale NaN, and so do all its outputs.
    const F poison = V::add(V::mul(lo, V::zero()), V::mul(hi, V::zero()));
    int8_t* q = a.q + at * kBlock;
    if (V::any_nan(poison)) {
      for (int i = 0; i < kBlock; ++i) q[i] = 0;
      a.scale[at] = a.scaled_sum[at] = __builtin_nanf("");
      a.minus_sum[at] = a.minus_half_sum[2 * at] = a.minus_half_sum[2 * at + 1] = 0;
      continue;
    }
    const float inverse = 127.0f / largest;
    // Blocks of zeros, and of denormals too small to divide by, are zeros.
    const F factor = V::set1(inverse <= 3.4e38f ? inverse : 0.0f);
    V::store_i8(q, V::to_int(V::mul(lo, factor)));
    V::store_i8(q + 16, V::to_int(V::mul(hi, factor)));
    int32_t one = 0, two = 0;
    for (int i = 0; i < 16; ++i) {
      one += q[i];
      two += q[16 + i];
    }
    const float scale = largest / 127.0f;
    a.scale[at] = scale;
    a.minus_sum[at] = -(one + two);
    a.scaled_sum[at] = scale * float(one + two);
    a.minus_half_sum[2 * at] = -one;
    a.minus_half_sum[2 * at + 1] = -two;
  }
}

template <class V>
void rms_norm(const float* x, const float* gain, int n, float eps, float* out) {
  typename V::F sum = V::zero();
  int i = 0;
  for (; i + 16 <= n; i += 16) sum = V::fma(V::load(x + i), V::load(x + i), sum);
  if (i < n) {
    const typename V::F tail = V::load_n(x + i, n - i);
    sum = V::fma(tail, tail, sum);
  }
  const float mean = V::sum(sum) / float(n);
  const typename V::F scale = V::set1(1.0f / std::sqrt(mean + eps));
  for (i = 0; i + 16 <= n; i += 16) {
    V::store(out + i, V::mul(V::mul(V::load(x + i), scale), V::load(gain + i)));
  }
  if (i < n) {
    V::store_n(out + i, V::mul(V::mul(V::load_n(x + i, n - i), scale), V::load_n(gain + i, n - i)),
               n - i);
  }
}

template <class V>
inline typename V::F silu_mul(typename V::F g, typename V::F u) {
  const typename V::F e = exp<V>(V::sub(V::zero(), g));
  return V::mul(V::div(g, V::add(V::set1(1.0f), e)), u);
}

template <class V>
void silu_mul(const float* gate, const float* up, int n, float* out) {
  int i = 0;
  for (; i + 16 <= n; i += 16) {
    V::store(out + i, silu_mul<V>(V::load(gate + i), V::load(up + i)));
  }
  if (i < n) {
    V::store_n(out + i, silu_mul<V>(V::load_n(gate + i, n - i), V::load_n(up + i, n - i)), n - i);
  }
}

template <class V>
void rope(float* x, int heads, int head_dim, int n_rot, bool neox, const float* cos,
          const float* sin) {
  const int half = n_rot / 2;
  for (int h = 0; h < heads; ++h, x += head_dim) {
    if (!neox) {
      int i = 0;
      for (; i + 8 <= half; i += 8) {
        const auto v = V::load(x + 2 * i);
        V::store(x + 2 * i, V::add_alternate(V::mul(v, V::load_twice(cos + i)),
                                             V::mul(V::swap_pairs(v), V::load_twice(sin + i))));
      }
      for (; i < half; ++i) {
        const float a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = a * cos[i] - b * sin[i];
        x[2 * i + 1] = a * sin[i] + b * cos[i];
      }
      continue;
    }
    for (int i = 0; i < half; i += 16) {
      const int n = half - i < 16 ? half - i : 16;
      const auto a = V::load_n(x + i, n), b = V::load_n(x + half + i, n);
      const auto c = V::load_n(cos + i, n), s = V::load_n(sin + i, n);
      V::store_n(x + i, V::sub(V::mul(a, c), V::mul(b, s)), n);
      V::store_n(x + half + i, V::add(V::mul(a, s), V::mul(b, c)), n);
    }
  }
}

template <class V>
void store_k(const float* k, int head_dim, uint16_t* page, int slot) {
  for (int i = 0; i < head_dim; i += 16) {
    const int n = head_dim - i < 16 ? head_dim - i : 16;
    uint16_t halves[16];
    V::store_half(halves, V::load_n(k + i, n));
    for (int j = 0; j < n; ++j) page[(i + j) * kPageTokens + slot] = halves[j];
  }
}

template <class V>
void store_v(const float* v, int head_dim, int v_dim, uint16_t* page, int slot) {
  uint16_t* to = page + head_dim * kPageTokens + slot * v_dim;
  for (int i = 0; i < head_dim; i += 16) {
    V::store_half(to + i, V::load_n(v + i, head_dim - i < 16 ? head_dim - i : 16));
  }
}

template <class V>
SelectPiece select(const float* logits, const uint8_t* banned, int n, float* masked) {
  using F = typename V::F;
  const F lowest = V::set1(-__builtin_inff());
  F max = lowest, poison = V::zero();
  for (int i = 0; i < n; i += 16) {
    const int count = n - i < 16 ? n - i : 16;
    F v = V::first_n(V::load_n(logits + i, count), count, lowest);
    uint32_t bits = count == 16 ? 0 : ~0u << count;
    if (banned) {
      bits |= uint32_t(banned[i / 8]) | (count > 8 ? uint32_t(banned[i / 8 + 1]) << 8 : 0);
    }
    poison = V::fma(V::where_clear(v, bits & 0xffff, V::zero()), V::zero(), poison);
    v = V::where_clear(v, bits & 0xffff, lowest);
    max = V::max(v, max);
    V::store_n(masked + i, v, count);
  }
  SelectPiece piece{V::largest(max), 0, !V::any_nan(poison)};
  if (!(piece.max > -__builtin_inff())) return piece;
  F sum = V::zero();
  for (int i = 0; i < n; i += 16) {
    const int count = n - i < 16 ? n - i : 16;
    const F v = V::first_n(V::load_n(masked + i, count), count, lowest);
    sum = V::add(sum, exp<V>(V::sub(v, V::set1(piece.max))));
  }
  piece.sum = V::sum(sum);
  return piece;
}

}  // namespace foretoken::kernels::simd

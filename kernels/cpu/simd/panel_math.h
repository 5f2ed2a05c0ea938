// What all products with panels share: unpacking a block to unsigned bytes, reading its scales, and
// the float operations that end a block. They stand here once, so that every path (few rows, many
// rows, tiles) rounds alike.
#pragma once

#include "kernels/cpu/simd/kernels.h"

namespace foretoken::kernels::simd {

/// Scales of one block of 16 rows. one: the block's (or its first half's), two: the second half's,
/// min: what is added per unit of scaled_sum.
template <class V, Scales kScales>
struct BlockScales;

template <class V>
struct BlockScales<V, Scales::d> {
  typename V::F one;
  /// Of block g of the unit that begins at `unit`.
  static BlockScales load(const std::byte* unit, int g) { return {V::load_half(unit + 32 * g)}; }
};
template <class V>
struct BlockScales<V, Scales::dm> {
  typename V::F one, min;
  static BlockScales load(const std::byte* unit, int) {
    return {V::load_half(unit), V::load_half(unit + 32)};
  }
};
template <class V>
struct BlockScales<V, Scales::k> {
  typename V::F one, min;
  static BlockScales load(const std::byte* unit, int g) {
    const std::byte* group = unit + 64 + 32 * g;
    return {V::mul(V::load_half(unit), V::load_u8(group)),
            V::sub(V::zero(), V::mul(V::load_half(unit + 32), V::load_u8(group + 16)))};
  }
};
template <class V>
struct BlockScales<V, Scales::six> {
  typename V::F one, two;
  static BlockScales load(const std::byte* unit, int g) {
    const std::byte* group = unit + 64 + 32 * g;
    const typename V::F d = V::load_half(unit);
    return {V::mul(d, V::load_i8(group)), V::mul(d, V::load_i8(group + 16))};
  }
};

/// acc + the block's products, given its integer sums (`two`: of the second half, Q6_K only).
template <class V, Scales kScales>
inline typename V::F end_block(typename V::F acc, typename V::I one, typename V::I two,
                               const BlockScales<V, kScales>& w, float scale, float scaled_sum) {
  const typename V::F s = V::set1(scale);
  acc = V::fma(V::to_float(one), V::mul(w.one, s), acc);
  if constexpr (kScales == Scales::six) acc = V::fma(V::to_float(two), V::mul(w.two, s), acc);
  if constexpr (kScales == Scales::dm || kScales == Scales::k) {
    acc = V::fma(w.min, V::set1(scaled_sum), acc);
  }
  return acc;
}

/// Operands r and r + 4 of a block.
template <class V, int kBits, int r>
inline void unpack_pair(const std::byte* block, typename V::B& low, typename V::B& high) {
  if constexpr (kBits == 8) {
    low = V::load_bytes(block + 64 * r);
    high = V::load_bytes(block + 64 * (r + 4));
  } else {
    const typename V::B line = V::load_bytes(block + 64 * r);
    low = V::low_nibbles(line);
    high = V::high_nibbles(line);
    if constexpr (kBits == 5) {
      const typename V::B plane = V::load_bytes(block + 256);
      low = V::template merge<4 - r, 0x10>(low, plane);
      high = V::template merge<0 - r, 0x10>(high, plane);
    }
    if constexpr (kBits == 6) {
      low = V::template merge<4 - 2 * r, 0x30>(low, V::load_bytes(block + 256));
      high = V::template merge<4 - 2 * r, 0x30>(high, V::load_bytes(block + 320));
    }
  }
}

// How far ahead of its use a line of weights is asked for, in bytes.
inline constexpr int kPrefetch = 4096;

/// f(block b, its scales' unit, its number in the unit, its quants) for every block of a panel,
/// which streams from memory.
template <class V, int kBits, Scales kScales, class Function>
inline void for_blocks(const PanelView& w, int panel, Function&& f) {
  const std::byte* unit = w.data + size_t(panel) * w.panel_bytes;
  constexpr int kUnit = unit_blocks(kScales);
  for (int b = 0; b < w.blocks; b += kUnit, unit += unit_bytes(kBits, kScales)) {
    const int count = kUnit == 2 && w.blocks - b < 2 ? 1 : kUnit;  // units of eight are full
    for (int i = 0; i < scale_bytes(kScales) / 64; ++i) V::prefetch(unit + kPrefetch + 64 * i);
    for (int g = 0; g < count; ++g) {
      const std::byte* block = unit + scale_bytes(kScales) + g * quant_bytes(kBits);
#pragma GCC unroll 8
      for (int i = 0; i < kBits; ++i) V::prefetch(block + kPrefetch + 64 * i);
      f(b + g, unit, g, block);
    }
  }
}

/// acc += operand * activations, for operands j = 0, 1, ... of a run whose length is a multiple of
/// four. Where a dot takes several instructions, up to four products share the last of them: `part`
/// holds their sums in 16 bits.
template <class V, int kBits>
inline void dot(typename V::I& acc, typename V::I& part, int j, typename V::B w, typename V::I a) {
  constexpr int kShared = V::kPartialSums ? kBits <= 5 ? 4 : kBits == 6 ? 2 : 1 : 1;
  if constexpr (kBits == 8) {
    acc = V::dot_bytes(acc, w, a);
  } else if constexpr (kShared == 1) {
    acc = V::dot(acc, w, a);
  } else {
    // At most 4 * 2 * 31 * 127 or 2 * 2 * 63 * 127, below 2^15.
    part = j % kShared == 0 ? V::pairs(w, a) : V::add_pairs(part, V::pairs(w, a));
    if (j % kShared == kShared - 1) acc = V::add_int(acc, V::sum_pairs(part));
  }
}

/// The sum a block starts with: what the unsigned offset of the weights adds, taken off.
template <class V, int kBits, Scales kScales>
inline typename V::I begin_block(int32_t minus_sum) {
  if constexpr (kScales == Scales::dm || kScales == Scales::k) return V::zero_int();
  if constexpr (kBits == 8 && V::kSignedBytes) return V::zero_int();
  constexpr int kZeroLog = kBits == 8 ? 7 : kBits - 1;  // zero points are 8, 16, 32, 128
  return V::template shift_left<kZeroLog>(V::set1_int(minus_sum));
}

/// out (+)= acc (+ bias) for `n` rows of a panel.
template <class V>
inline void finish_output(typename V::F acc, const Output& out, int row, int first, int n) {
  float* to = out.data + size_t(row) * out.stride + first;
  if (out.bias) acc = V::add(acc, V::load_n(out.bias + first, n));
  if (out.accumulate) acc = V::add(acc, V::load_n(to, n));
  V::store_n(to, acc, n);
}

}  // namespace foretoken::kernels::simd

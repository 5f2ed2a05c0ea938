// y[t] = W x[t] for many rows on int8 tiles: 16 rows of activations x 16 outputs x 32 inputs per
// instruction, then the same float operations that end a block in the AVX-512 kernels, so the bits
// are the same.
//
// A panel is unpacked once to signed bytes (zero point taken off) in a scratch of 16 * in bytes;
// operands of a block are the rows of tile B as they lie. Per 16 x 16 x 32 products: 24 lines
// loaded, 16 stored and loaded again, 3 vector operations per row: some 30 cycles against 88 with
// VNNI. A block of Q6_K, scaled in halves, takes two products of 16 inputs.
#pragma once

#include "kernels/cpu/simd/count.h"
#include "kernels/cpu/simd/panel_math.h"

namespace foretoken::kernels::simd {

inline constexpr int kTileRows = 16;

template <class V, Scales kScales>
struct SignedPanel {
  std::byte* bytes;                 // [blocks][8][64]
  BlockScales<V, kScales>* scales;  // [blocks]
};

template <class V, int kBits, Scales kScales>
inline void unpack_signed(const PanelView& w, int panel, const SignedPanel<V, kScales>& u) {
  for_blocks<V, kBits, kScales>(
      w, panel, [&](int b, const std::byte* unit, int g, const std::byte* block) {
        constexpr bool min = kScales == Scales::dm || kScales == Scales::k;
        constexpr int zero = min ? 0 : kBits == 8 ? 128 : 1 << (kBits - 1);
        std::byte* to = u.bytes + size_t(b) * 512;
        const auto pair = [&]<int r>() {
          typename V::B low, high;
          unpack_pair<V, kBits, r>(block, low, high);
          V::store_bytes(to + 64 * r, V::sub_bytes(low, zero));
          V::store_bytes(to + 64 * (r + 4), V::sub_bytes(high, zero));
        };
        pair.template operator()<0>();
        pair.template operator()<1>();
        pair.template operator()<2>();
        pair.template operator()<3>();
        u.scales[b] = BlockScales<V, kScales>::load(unit, g);
      });
}

/// Rows [row, row + count) of activations times one unpacked panel; tiles are configured.
template <class V, class Tiles, Scales kScales>
inline void tile_rows(const PanelView& w, int panel, const SignedPanel<V, kScales>& u,
                      const Activations& a, int row, int count, const Output& out) {
  constexpr bool kHalves = kScales == Scales::six;
  constexpr int kInputs = kHalves ? 16 : 32, kPerBlock = kHalves ? 2 : 1;
  const size_t blocks = size_t(a.blocks), stride = blocks * kBlock;
  alignas(64) int32_t c[2][kTileRows * 16] = {};
  const int8_t* q = a.q + size_t(row) * stride;
  const auto product = [&](int step) {
    const std::byte* b = u.bytes + size_t(step) * kInputs * 16;
    if (step % 2 == 0) {
      Tiles::template product<0>(q + step * kInputs, stride, b, c[0]);
    } else {
      Tiles::template product<1>(q + step * kInputs, stride, b, c[1]);
    }
  };
  typename V::F acc[kTileRows];
  size_t at[kTileRows];  // of the row's first block in the arrays of activations
#pragma GCC unroll 16
  for (int t = 0; t < kTileRows; ++t) {
    acc[t] = V::zero();
    // Lanes beyond `count` compute something finite that nobody stores.
    at[t] = size_t(row + (t < count ? t : 0)) * blocks;
  }
  const int steps = w.blocks * kPerBlock;
  product(0);
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps) product(step + 1);
    const int b = step / kPerBlock;
    const BlockScales<V, kScales>& s = u.scales[b];
    const int32_t* sums = c[step % 2];
#pragma GCC unroll 16
    for (int t = 0; t < kTileRows; ++t) {
      const typename V::I sum = V::load_int(sums + 16 * t);
      if constexpr (kHalves) {
        acc[t] =
            V::fma(V::to_float(sum),
                   V::mul(step % 2 ? s.two : s.one, V::set1(a.scale[at[t] + size_t(b)])), acc[t]);
      } else {
        acc[t] = end_block<V, kScales>(acc[t], sum, sum, s, a.scale[at[t] + size_t(b)],
                                       a.scaled_sum[at[t] + size_t(b)]);
      }
    }
  }
  const int first = panel * kPanelRows;
  const int n = w.out - first < kPanelRows ? w.out - first : kPanelRows;
#pragma GCC unroll 16
  for (int t = 0; t < kTileRows; ++t) {
    if (t < count) finish_output<V>(acc[t], out, row + t, first, n);
  }
}

template <class V, class Tiles, int kBits, Scales kScales>
void tile_format(const PanelView& w, int panel, int panels, const Activations& a, int row, int rows,
                 const Output& out, std::byte* scratch) {
  constexpr int kInputs = kScales == Scales::six ? 16 : 32;
  const SignedPanel<V, kScales> u{
      scratch, reinterpret_cast<BlockScales<V, kScales>*>(scratch + size_t(w.blocks) * 512)};
  for (int p = 0; p < panels; ++p) {
    unpack_signed<V, kBits, kScales>(w, panel + p, u);
    int t = 0;
    if (rows >= kTileRows) {
      Tiles::configure(kTileRows, kInputs);
      for (; t + kTileRows <= rows; t += kTileRows) {
        tile_rows<V, Tiles, kScales>(w, panel + p, u, a, row + t, kTileRows, out);
      }
    }
    if (t < rows) {
      Tiles::configure(rows - t, kInputs);
      tile_rows<V, Tiles, kScales>(w, panel + p, u, a, row + t, rows - t, out);
    }
  }
  Tiles::release();
}

/// Rows too few for tiles are the caller's business.
template <class V, class Tiles>
void tile_matmul(const PanelView& w, int panel, int panels, const Activations& a, int row, int rows,
                 const Output& out, std::byte* scratch) {
  const auto as = [&]<int kBits, Scales kScales>() {
    tile_format<V, Tiles, kBits, kScales>(w, panel, panels, a, row, rows, out, scratch);
  };
  switch (w.type) {
    case DType::q4_0:
      return as.template operator()<4, Scales::d>();
    case DType::q4_1:
      return as.template operator()<4, Scales::dm>();
    case DType::q5_0:
      return as.template operator()<5, Scales::d>();
    case DType::q5_1:
      return as.template operator()<5, Scales::dm>();
    case DType::q8_0:
      return as.template operator()<8, Scales::d>();
    case DType::q4_k:
      return as.template operator()<4, Scales::k>();
    case DType::q5_k:
      return as.template operator()<5, Scales::k>();
    case DType::q6_k:
      return as.template operator()<6, Scales::six>();
    default:
      return;
  }
}

}  // namespace foretoken::kernels::simd

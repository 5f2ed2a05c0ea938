// y[t] = W x[t] with W in panels (cpu/panels.h) and x in 8-bit blocks of 32.
//
//   acc[t][lane] = sum over blocks b, in order, of
//                  fma(float(sum_k q(lane, k) a(t, k)), w_scale(lane, b) * a_scale(t, b), acc)
//                  (+ min(lane, b) * scaled_sum(t, b))
//
// Few rows (direct): memory bound. A panel streams once through registers, bits * 64 + scale bytes
// per block of 16 x 32 weights, each line is unpacked once and meets all rows.
// Many rows (tiled): arithmetic bound. kPanels panels are unpacked to bytes in a scratch of
// in * 16 * kPanels bytes (L2), then tiles of kPanels * 16 outputs x kTokens rows keep all sums in
// registers: per operand kPanels + kTokens loads feed kPanels * kTokens dots of 64 products.
#pragma once

#include "kernels/cpu/simd/count.h"
#include "kernels/cpu/simd/panel_math.h"

namespace foretoken::kernels::simd {

template <class V, int kBits, Scales kScales, int T>
inline void direct_panel(const PanelView& w, int panel, const Activations& a, int row,
                         const Output& out) {
  using I = typename V::I;
  typename V::F acc[T];
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) acc[t] = V::zero();
  for_blocks<V, kBits, kScales>(
      w, panel, [&](int b, const std::byte* unit, int g, const std::byte* block) {
        // Two chains of sums: operands 0-3 and 4-7 (the halves, which Q6_K scales apart).
        I one[T], two[T], part_one[T], part_two[T];
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
          const size_t at = size_t(row + t) * size_t(a.blocks) + size_t(b);
          if constexpr (kScales == Scales::six) {
            one[t] = begin_block<V, kBits, kScales>(a.minus_half_sum[2 * at]);
            two[t] = begin_block<V, kBits, kScales>(a.minus_half_sum[2 * at + 1]);
          } else {
            one[t] = begin_block<V, kBits, kScales>(a.minus_sum[at]);
            two[t] = V::zero_int();
          }
        }
        const auto pair = [&]<int r>() {
          typename V::B low, high;
          unpack_pair<V, kBits, r>(block, low, high);
#pragma GCC unroll 8
          for (int t = 0; t < T; ++t) {
            const int8_t* q = a.q + (size_t(row + t) * size_t(a.blocks) + size_t(b)) * kBlock;
            dot<V, kBits>(one[t], part_one[t], r, low, V::broadcast4(q + 4 * r));
            dot<V, kBits>(two[t], part_two[t], r, high, V::broadcast4(q + 16 + 4 * r));
          }
        };
        pair.template operator()<0>();
        pair.template operator()<1>();
        pair.template operator()<2>();
        pair.template operator()<3>();
        const auto scale = BlockScales<V, kScales>::load(unit, g);
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
          const size_t at = size_t(row + t) * size_t(a.blocks) + size_t(b);
          if constexpr (kScales != Scales::six) one[t] = V::add_int(one[t], two[t]);
          acc[t] =
              end_block<V, kScales>(acc[t], one[t], two[t], scale, a.scale[at], a.scaled_sum[at]);
        }
      });
  const int first = panel * kPanelRows;
  const int n = w.out - first < kPanelRows ? w.out - first : kPanelRows;
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) finish_output<V>(acc[t], out, row + t, first, n);
}

/// The unpacked panels of one piece: per block and panel 512 bytes, and the block's scales.
template <class V, Scales kScales>
struct Unpacked {
  std::byte* bytes;                 // [blocks][kPanels][8][64]
  BlockScales<V, kScales>* scales;  // [blocks][kPanels]
};

template <class V, int kBits, Scales kScales, int R>
inline void unpack_panels(const PanelView& w, int panel, const Unpacked<V, kScales>& u) {
#pragma GCC unroll 8
  for (int p = 0; p < R; ++p) {
    for_blocks<V, kBits, kScales>(
        w, panel + p, [&](int b, const std::byte* unit, int g, const std::byte* block) {
          std::byte* to = u.bytes + (size_t(b) * R + size_t(p)) * 512;
          const auto pair = [&]<int r>() {
            typename V::B low, high;
            unpack_pair<V, kBits, r>(block, low, high);
            V::store_bytes(to + 64 * r, low);
            V::store_bytes(to + 64 * (r + 4), high);
          };
          pair.template operator()<0>();
          pair.template operator()<1>();
          pair.template operator()<2>();
          pair.template operator()<3>();
          u.scales[size_t(b) * R + size_t(p)] = BlockScales<V, kScales>::load(unit, g);
        });
  }
}

template <class V, int kBits, Scales kScales, int R, int T>
inline void tile(const PanelView& w, int panel, const Unpacked<V, kScales>& u, const Activations& a,
                 int row, const Output& out, const std::byte* next) {
  using I = typename V::I;
  typename V::F acc[R][T];
#pragma GCC unroll 8
  for (int p = 0; p < R; ++p) {
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) acc[p][t] = V::zero();
  }
  const size_t blocks = size_t(a.blocks);
  const std::byte* bytes = u.bytes;
  const int8_t* q = a.q + size_t(row) * blocks * kBlock;
  const float* scale = a.scale + size_t(row) * blocks;
  const float* scaled_sum = a.scaled_sum + size_t(row) * blocks;
  for (int b = 0; b < w.blocks; ++b, q += kBlock, bytes += R * 512) {
    const BlockScales<V, kScales>* s = u.scales + size_t(b) * R;
    if (next) {
      constexpr int kLines = R * (unit_bytes(kBits, kScales) / unit_blocks(kScales) + 63) / 64;
#pragma GCC unroll 24
      for (int i = 0; i < kLines; ++i) V::prefetch_far(next + 64 * i);
      next += 64 * kLines;
    }
    I sum[R][T], part[R][T];
    const auto half = [&](int first, const int32_t* begin, size_t stride) {
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) {
        const I start =
            begin ? begin_block<V, kBits, kScales>(begin[size_t(t) * stride]) : V::zero_int();
#pragma GCC unroll 8
        for (int p = 0; p < R; ++p) sum[p][t] = start;
      }
#pragma GCC unroll 8
      for (int j = first; j < first + (kScales == Scales::six ? 4 : 8); ++j) {
        typename V::B operand[R];
#pragma GCC unroll 8
        for (int p = 0; p < R; ++p) operand[p] = V::load_bytes(bytes + 512 * p + 64 * j);
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
          const I activations = V::broadcast4(q + size_t(t) * blocks * kBlock + 4 * j);
#pragma GCC unroll 8
          for (int p = 0; p < R; ++p) {
            dot<V, kBits>(sum[p][t], part[p][t], j, operand[p], activations);
          }
        }
      }
    };
    if constexpr (kScales == Scales::six) {
      // The halves in turn, each with its own scale, in the order that end_block() has.
      for (int h = 0; h < 2; ++h) {
        half(4 * h, a.minus_half_sum + 2 * (size_t(row) * blocks + size_t(b)) + h, 2 * blocks);
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
          const typename V::F ts = V::set1(scale[size_t(t) * blocks + size_t(b)]);
#pragma GCC unroll 8
          for (int p = 0; p < R; ++p) {
            acc[p][t] =
                V::fma(V::to_float(sum[p][t]), V::mul(h ? s[p].two : s[p].one, ts), acc[p][t]);
          }
        }
      }
    } else {
      half(0, a.minus_sum + size_t(row) * blocks + size_t(b), blocks);
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) {
        const size_t at = size_t(t) * blocks + size_t(b);
#pragma GCC unroll 8
        for (int p = 0; p < R; ++p) {
          acc[p][t] = end_block<V, kScales>(acc[p][t], sum[p][t], sum[p][t], s[p], scale[at],
                                            scaled_sum[at]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < R; ++p) {
    const int first = (panel + p) * kPanelRows;
    const int n = w.out - first < kPanelRows ? w.out - first : kPanelRows;
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) finish_output<V>(acc[p][t], out, row + t, first, n);
  }
}

template <class V, int kBits, Scales kScales, int R>
inline void tiled_panels(const PanelView& w, int panel, const Activations& a, int row, int rows,
                         const Output& out, std::byte* scratch) {
  const Unpacked<V, kScales> u{
      scratch, reinterpret_cast<BlockScales<V, kScales>*>(scratch + size_t(w.blocks) * R * 512)};
  unpack_panels<V, kBits, kScales, R>(w, panel, u);
  // While the first tile computes, the panels after these are on their way to the cache.
  const std::byte* next = w.data + size_t(panel + R) * w.panel_bytes;
  for_parts(rows, V::kTokens, [&](int t, int count) {
    with_count<V::kTokens>(
        count, [&]<int T>() { tile<V, kBits, kScales, R, T>(w, panel, u, a, row + t, out, next); });
    next = nullptr;
  });
}

template <class V, int kBits, Scales kScales>
void matmul_format(const PanelView& w, int panel, int panels, const Activations& a, int row,
                   int rows, const Output& out, std::byte* scratch) {
  if (rows <= V::kDirectRows) {
    for (int p = 0; p < panels; ++p) {
      for_parts(rows, V::kDirect, [&](int t, int count) {
        with_count<V::kDirect>(count, [&]<int T>() {
          direct_panel<V, kBits, kScales, T>(w, panel + p, a, row + t, out);
        });
      });
    }
    return;
  }
  int p = 0;
  for (; p + V::kPanels <= panels; p += V::kPanels) {
    tiled_panels<V, kBits, kScales, V::kPanels>(w, panel + p, a, row, rows, out, scratch);
  }
  for (; p < panels; ++p) {
    tiled_panels<V, kBits, kScales, 1>(w, panel + p, a, row, rows, out, scratch);
  }
}

template <class V>
void matmul(const PanelView& w, int panel, int panels, const Activations& a, int row, int rows,
            const Output& out, std::byte* scratch) {
  const auto as = [&]<int kBits, Scales kScales>() {
    matmul_format<V, kBits, kScales>(w, panel, panels, a, row, rows, out, scratch);
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
      return;  // types without blocks: matmul_plain
  }
}

/// Weights without blocks and float activations: acc = fma(w[k], x[k], acc) for k in order.
template <class V, DType kType, int R, int T>
inline void plain_tile(const PanelView& w, int panel, const float* x, size_t x_stride, int row,
                       const Output& out) {
  constexpr size_t kBytes = kType == DType::f32 ? 64 : 32;  // of 16 rows
  typename V::F acc[R][T];
#pragma GCC unroll 8
  for (int p = 0; p < R; ++p) {
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) acc[p][t] = V::zero();
  }
  const std::byte* from = w.data + size_t(panel) * w.panel_bytes;
  x += size_t(row) * x_stride;
  for (int k = 0; k < w.in; ++k, from += kBytes) {
    typename V::F v[R];
#pragma GCC unroll 8
    for (int p = 0; p < R; ++p) {
      const std::byte* at = from + size_t(p) * w.panel_bytes;
      if constexpr (kType == DType::f32) {
        v[p] = V::load(reinterpret_cast<const float*>(at));
      } else if constexpr (kType == DType::f16) {
        v[p] = V::load_half(at);
      } else {
        v[p] = V::load_bfloat(at);
      }
    }
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      const typename V::F xs = V::set1(x[size_t(t) * x_stride + size_t(k)]);
#pragma GCC unroll 8
      for (int p = 0; p < R; ++p) acc[p][t] = V::fma(v[p], xs, acc[p][t]);
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < R; ++p) {
    const int first = (panel + p) * kPanelRows;
    const int n = w.out - first < kPanelRows ? w.out - first : kPanelRows;
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) finish_output<V>(acc[p][t], out, row + t, first, n);
  }
}

template <class V, DType kType>
void plain_panels(const PanelView& w, int panel, int panels, const float* x, size_t x_stride,
                  int row, int rows, const Output& out) {
  for (int p = 0; p < panels;) {
    const bool wide = panels - p >= V::kPlainPanels;
    for (int t = 0; t < rows; t += V::kPlainTokens) {
      const int count = rows - t < V::kPlainTokens ? rows - t : V::kPlainTokens;
      with_count<V::kPlainTokens>(count, [&]<int T>() {
        if (wide) {
          plain_tile<V, kType, V::kPlainPanels, T>(w, panel + p, x, x_stride, row + t, out);
        } else {
          plain_tile<V, kType, 1, T>(w, panel + p, x, x_stride, row + t, out);
        }
      });
    }
    p += wide ? V::kPlainPanels : 1;
  }
}

template <class V>
void matmul_plain(const PanelView& w, int panel, int panels, const float* x, size_t x_stride,
                  int row, int rows, const Output& out) {
  switch (w.type) {
    case DType::f32:
      return plain_panels<V, DType::f32>(w, panel, panels, x, x_stride, row, rows, out);
    case DType::f16:
      return plain_panels<V, DType::f16>(w, panel, panels, x, x_stride, row, rows, out);
    case DType::bf16:
      return plain_panels<V, DType::bf16>(w, panel, panels, x, x_stride, row, rows, out);
    default:
      return;
  }
}

}  // namespace foretoken::kernels::simd

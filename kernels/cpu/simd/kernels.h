// What an instruction set provides: kernels over raw pointers, each computing one piece of an
// operation on the calling thread. The stream (cpu/stream.cpp) cuts operations into pieces.
//
// Every kernel gives the same bits in every instruction set: same order of float operations per
// output element, fused multiply-add exactly where the shared code says fma, integer sums exact.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/panels.h"

namespace foretoken::kernels {

/// Rows of activations quantised to 8 bits: per row and block of 32 the bytes q = round(x / scale),
/// the scale, scale * (sum of q), and the sums of q over the block and over its halves, negated:
/// that times a power of two is what the weights' unsigned offset must be corrected by.
struct Activations {
  int blocks = 0;
  int8_t* q = nullptr;                // [row][32 * blocks]
  float* scale = nullptr;             // [row][blocks]
  float* scaled_sum = nullptr;        // [row][blocks]
  int32_t* minus_sum = nullptr;       // [row][blocks]
  int32_t* minus_half_sum = nullptr;  // [row][2 * blocks]
};

struct PanelView {
  DType type;
  int in, out, blocks;
  const std::byte* data;
  size_t panel_bytes;
};

/// Where a product goes: out[row][0 .. out), rows `stride` floats apart; bias may be null.
struct Output {
  float* data;
  size_t stride;
  const float* bias;
  bool accumulate;
};

/// One KV head and some tokens of an attention call.
struct AttentionPiece {
  const uint16_t* const* pages;  // per page: K [head_dim][64], then V [64][v_dim], halves
  int first;                     // position of row 0
  int head_dim, v_dim;           // v_dim: head_dim rounded up to 16
  int head, heads;               // query heads head .. head + heads - 1, all of this KV head
  int row, rows;
  const float* q;
  size_t q_stride;
  float scale;
  float* out;
  size_t out_stride;
};

/// Logits [first, last) of a row, seen by one piece of select().
struct SelectPiece {
  float max;
  float sum;  // of exp(logit - max)
  bool finite;
};

struct CpuKernels {
  const char* name;
  int panels;       // that a matmul of many rows unpacks together
  int direct_rows;  // up to so many rows need no unpacking
  int queries;      // that attention computes together
  void (*quantize)(const float* x, const Activations& a, int row);
  /// Panels [panel, panel + panels) times rows [row, row + rows). scratch: matmul_scratch bytes.
  void (*matmul)(const PanelView& w, int panel, int panels, const Activations& a, int row, int rows,
                 const Output& out, std::byte* scratch);
  void (*matmul_plain)(const PanelView& w, int panel, int panels, const float* x, size_t x_stride,
                       int row, int rows, const Output& out);
  void (*rms_norm)(const float* x, const float* gain, int n, float eps, float* out);
  void (*silu_mul)(const float* gate, const float* up, int n, float* out);
  void (*rope)(float* x, int heads, int head_dim, int n_rot, bool neox, const float* cos,
               const float* sin);
  void (*store_k)(const float* k, int head_dim, uint16_t* page, int slot);
  void (*store_v)(const float* v, int head_dim, int v_dim, uint16_t* page, int slot);
  void (*attention)(const AttentionPiece& piece, std::byte* scratch);
  /// Writes the logits with banned ones at -inf to `masked` and sums them up.
  SelectPiece (*select)(const float* logits, const uint8_t* banned, int n, float* masked);
};

/// Bytes of scratch per thread for `in` inputs (matmul), or for `queries` queries against heads of
/// `head_dim` (attention).
size_t matmul_scratch(const CpuKernels& k, int in);
size_t attention_scratch(int head_dim, int queries);

const CpuKernels& avx2_kernels();
const CpuKernels& avxvnni_kernels();  // avx2 with AVX-VNNI products
const CpuKernels& avx512_kernels();
const CpuKernels& amx_kernels();

}  // namespace foretoken::kernels

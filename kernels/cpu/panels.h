// Weights as the SIMD kernels read them: panels of 16 output rows, so that a vector lane is an
// output row and no kernel ever sums across lanes.
//
// Quantised types. Inputs are cut into blocks of 32; operand j (0..7) of a block is 64 bytes: for
// each of the 16 rows the four unsigned values of inputs 4j .. 4j+3. A panel holds
//   quants: per block, 64-byte lines
//     4 lines  low nibbles: line r = operand r | operand r+4 << 4       (all but Q8_0)
//     1 line   fifth bits: bit j of byte (row, b) belongs to operand j  (Q5_0, Q5_1, Q5_K)
//     2 lines  bits 4, 5: line p, bits 2(j%4) belong to operand j=4p+.. (Q6_K)
//     8 lines  whole bytes, stored value + 128                          (Q8_0)
//   scales: after all quants
//     pair types (Q4_0 Q5_0 Q8_0): per block 16 halves d
//     (Q4_1 Q5_1):                 per block 16 halves d, 16 halves m
//     (Q4_K Q5_K): per 8 blocks 16 halves d, 16 halves dmin; then per block 16 bytes S, 16 bytes M
//     (Q6_K):      per 8 blocks 16 halves d; then per block 16 int8 (first 16 inputs), 16 int8
// and y = d q', d q' + m, (d S) q - dmin M, (d S) q', where q' = q - zero_point.
//
// Types without blocks: input k of the 16 rows lies side by side: 16 floats, halves or bfloats.
//
// Bytes per weight are the file's, but for Q4_K and Q5_K, whose 6-bit scales take whole bytes
// (+ 4 of 144 or 176 per block of 256), and for the padding of the last panel to 16 rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/ops.h"

namespace foretoken::kernels {

inline constexpr int kPanelRows = 16;
inline constexpr int kBlock = 32;  // inputs per block of activations

enum class Scales : uint8_t { none, d, dm, k, six };

struct PanelFormat {
  int bits;  // 4, 5, 6, 8; 16 or 32 without blocks
  Scales scales;
  int zero_point;
};
constexpr PanelFormat panel_format(DType type) {
  switch (type) {
    case DType::q4_0: return {4, Scales::d, 8};
    case DType::q4_1: return {4, Scales::dm, 0};
    case DType::q5_0: return {5, Scales::d, 16};
    case DType::q5_1: return {5, Scales::dm, 0};
    case DType::q8_0: return {8, Scales::d, 128};
    case DType::q4_k: return {4, Scales::k, 0};
    case DType::q5_k: return {5, Scales::k, 0};
    case DType::q6_k: return {6, Scales::six, 32};
    case DType::f16:
    case DType::bf16: return {16, Scales::none, 0};
    case DType::f32: return {32, Scales::none, 0};
  }
  return {32, Scales::none, 0};
}

/// Bytes of quants per block, and of scales per super-block of `kSuper` blocks (1 where each block
/// has its own).
constexpr int quant_bytes(PanelFormat f) { return f.bits * 64; }
constexpr int super_blocks(Scales s) { return s == Scales::k || s == Scales::six ? 8 : 1; }
constexpr int scale_bytes(Scales s) {
  return s == Scales::d ? 32 : s == Scales::dm ? 64 : s == Scales::k ? 320 : 288;
}

struct PanelLayout {
  PanelFormat format;
  int blocks;           // of 32 inputs; 0 without blocks
  size_t scales_at;     // byte offset of the scales in a panel
  size_t panel_bytes;   // distance of panels, a multiple of 64
};
PanelLayout panel_layout(DType type, int in);

/// A weight in panels, or (Use::lookup) in GGUF rows. Immutable, thread-safe.
class PanelWeight : public Weight {
 public:
  /// Reads in batches of whole panels through a small buffer and packs them on all threads.
  PanelWeight(const WeightSource& source, HostArena& arena, ThreadPool& pool);
  int in() const override { return in_; }
  int out() const override { return out_; }
  DType type() const override { return type_; }
  size_t bytes() const override { return bytes_; }

  bool packed() const { return packed_; }
  const PanelLayout& layout() const { return layout_; }
  int panels() const { return (out_ + kPanelRows - 1) / kPanelRows; }
  const std::byte* panel(int p) const { return memory_.get() + size_t(p) * layout_.panel_bytes; }

  /// Row `r` as floats: the very values that dequantize() gives.
  void row(int r, float* out) const;

 private:
  DType type_;
  int in_, out_;
  bool packed_;
  PanelLayout layout_;
  size_t bytes_;
  HostMemory memory_;
};

/// Packs up to 16 GGUF rows (`row_bytes` apart) into a panel; rows beyond `rows` become zero.
void pack_panel(DType type, const PanelLayout& layout, const std::byte* raw, int rows,
                size_t row_bytes, std::byte* panel);

}  // namespace foretoken::kernels

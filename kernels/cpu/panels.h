// Weights as the SIMD kernels read them: panels of 16 output rows, so that a vector lane is an
// output row and no kernel ever sums across lanes.
//
// Quantised types. Inputs are cut into blocks of 32; operand j (0..7) of a block is 64 bytes: for
// each of the 16 rows the four unsigned values of inputs 4j .. 4j+3. A panel is a row of units, a
// unit the scales of one, two or eight blocks and then their quants, all in whole cache lines, so
// that a product reads one straight stretch of memory:
//   quants, per block:
//     4 lines  low nibbles: line r = operand r | operand r+4 << 4       (all but Q8_0)
//     1 line   fifth bits: bit j of byte (row, b) belongs to operand j  (Q5_0, Q5_1, Q5_K)
//     2 lines  bits 4, 5: line p, bits 2(j%4) belong to operand j=4p+.. (Q6_K)
//     8 lines  whole bytes, stored value + 128                          (Q8_0)
//   scales, per unit:
//     d   (Q4_0 Q5_0 Q8_0): two blocks; 16 halves d for each
//     dm  (Q4_1 Q5_1):      one block; 16 halves d, 16 halves m
//     k   (Q4_K Q5_K):      eight; 16 halves d, 16 halves dmin; per block 16 bytes S, 16 bytes M
//     six (Q6_K):           eight; 16 halves d, 32 bytes nothing; per block 16 int8 (first 16
//                           inputs), 16 int8
// and y = d q', d q' + m, (d S) q - dmin M, (d S) q', where q' = q - zero_point.
//
// Types without blocks: input k of the 16 rows lies side by side: 16 floats, halves or bfloats.
//
// Bytes per weight are the file's, but for the K types (6-bit scales take whole bytes: + 4 of 144
// or 176 per block of 256; Q6_K + 2 of 210), and for padding to 16 rows and to whole units.
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
    case DType::q4_0:
      return {4, Scales::d, 8};
    case DType::q4_1:
      return {4, Scales::dm, 0};
    case DType::q5_0:
      return {5, Scales::d, 16};
    case DType::q5_1:
      return {5, Scales::dm, 0};
    case DType::q8_0:
      return {8, Scales::d, 128};
    case DType::q4_k:
      return {4, Scales::k, 0};
    case DType::q5_k:
      return {5, Scales::k, 0};
    case DType::q6_k:
      return {6, Scales::six, 32};
    case DType::f16:
    case DType::bf16:
      return {16, Scales::none, 0};
    case DType::f32:
      return {32, Scales::none, 0};
  }
  return {32, Scales::none, 0};
}

/// Bytes of quants per block.
constexpr int quant_bytes(int bits) {
  return bits * 64;
}
/// Blocks per unit, and bytes of scales per unit.
constexpr int unit_blocks(Scales s) {
  return s == Scales::d ? 2 : s == Scales::dm ? 1 : 8;
}
constexpr int scale_bytes(Scales s) {
  return s == Scales::d || s == Scales::dm ? 64 : 320;
}
constexpr int unit_bytes(int bits, Scales s) {
  return scale_bytes(s) + unit_blocks(s) * quant_bytes(bits);
}

struct PanelLayout {
  PanelFormat format;
  int blocks;          // of 32 inputs; 0 without blocks
  size_t panel_bytes;  // distance of panels, a multiple of 64
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

#include "kernels/cpu/panels.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "kernels/quant.h"

namespace foretoken::kernels {
namespace {

// Rows are read in batches of about this many bytes: small beside the model, large beside a call.
constexpr size_t kReadBytes = size_t{1} << 20;

uint32_t word_at(const uint8_t* p) {
  uint32_t w;
  std::memcpy(&w, p, 4);
  return w;
}
void put_word(uint8_t* p, uint32_t w) {
  std::memcpy(p, &w, 4);
}

constexpr uint32_t kLow = 0x0f0f0f0f;

// Bit 4j + b of x becomes bit 8b + j: the fifth bits of 32 inputs as one byte per input mod 4.
uint32_t transpose_bits(uint32_t x) {
  uint32_t y = 0;
  for (int b = 0; b < 4; ++b) {
    uint32_t t = (x >> b) & 0x11111111;
    t = (t | t >> 3) & 0x03030303;
    t = (t | t >> 6) & 0x000f000f;
    y |= ((t | t >> 12) & 0xff) << (8 * b);
  }
  return y;
}

// Sixteen bytes with element j in the low, element j + 16 in the high nibble of byte j: that is
// operand j/4 | operand j/4 + 4 << 4 already.
void put_nibbles(const uint8_t* qs, uint8_t* line, int row) {
  for (int r = 0; r < 4; ++r) put_word(line + 64 * r + 4 * row, word_at(qs + 4 * r));
}

void pack_legacy_row(DType type, const PanelLayout& layout, const uint8_t* raw, int row,
                     uint8_t* panel) {
  const bool has_min = layout.format.scales == Scales::dm;
  const int raw_bytes = dtype_info(type)->bytes, lines = quant_bytes(layout.format.bits);
  const int per_unit = unit_blocks(layout.format.scales);
  uint8_t* scale = nullptr;
  for (int b = 0; b < layout.blocks; ++b, raw += raw_bytes, panel += lines, scale += 32) {
    if (b % per_unit == 0) {
      scale = panel;
      panel += scale_bytes(layout.format.scales);
    }
    std::memcpy(scale + 2 * row, raw, 2);
    if (has_min) std::memcpy(scale + 32 + 2 * row, raw + 2, 2);
    const uint8_t* qs = raw + (has_min ? 4 : 2);
    if (layout.format.bits == 8) {
      for (int j = 0; j < 8; ++j) {
        put_word(panel + 64 * j + 4 * row, word_at(qs + 4 * j) ^ 0x80808080);
      }
      continue;
    }
    if (layout.format.bits == 5) {
      put_word(panel + 256 + 4 * row, transpose_bits(word_at(qs)));
      qs += 4;
    }
    put_nibbles(qs, panel, row);
  }
}

// Groups 2i and 2i + 1 share the bytes qs[32 i ..]: low nibbles belong to the first.
void put_nibbles_k(const uint8_t* qs, bool high, uint8_t* line, int row) {
  for (int r = 0; r < 4; ++r) {
    const uint32_t a = word_at(qs + 4 * r), b = word_at(qs + 4 * r + 16);
    put_word(line + 64 * r + 4 * row,
             high ? ((a >> 4) & kLow) | (b & ~kLow) : (a & kLow) | ((b & kLow) << 4));
  }
}

void pack_k_row(const PanelLayout& layout, const uint8_t* raw, int row, uint8_t* panel) {
  const bool five = layout.format.bits == 5;
  for (int b = 0; b < layout.blocks; b += 8) {
    uint8_t* scale = panel;
    panel += scale_bytes(Scales::k);
    std::memcpy(scale + 2 * row, raw, 2);
    std::memcpy(scale + 32 + 2 * row, raw + 2, 2);
    const uint8_t *high = raw + 16, *qs = raw + (five ? 48 : 16);
    for (int g = 0; g < 8; ++g, panel += quant_bytes(layout.format.bits)) {
      const ScaleMin s = k_scale_min(raw + 4, g);
      scale[64 + 32 * g + row] = s.scale;
      scale[64 + 32 * g + 16 + row] = s.min;
      put_nibbles_k(qs + 32 * (g / 2), g % 2, panel, row);
      if (!five) continue;
      uint32_t plane = 0;
      for (int j = 0; j < 8; ++j) plane |= ((word_at(high + 4 * j) >> g) & 0x01010101) << j;
      put_word(panel + 256 + 4 * row, plane);
    }
    raw += five ? 176 : 144;
  }
}

void pack_six_row(const PanelLayout& layout, const uint8_t* raw, int row, uint8_t* panel) {
  for (int b = 0; b < layout.blocks; b += 8, raw += 210) {
    uint8_t* scale = panel;
    panel += scale_bytes(Scales::six);
    const uint8_t *ql = raw, *qh = raw + 128, *scales = raw + 192;
    std::memcpy(scale + 2 * row, raw + 208, 2);
    for (int g = 0; g < 8; ++g, panel += quant_bytes(layout.format.bits)) {
      const int h = g / 4, k = g % 4;
      scale[64 + 32 * g + row] = scales[2 * g];
      scale[64 + 32 * g + 16 + row] = scales[2 * g + 1];
      put_nibbles_k(ql + 64 * h + 32 * (k & 1), k >= 2, panel, row);
      for (int p = 0; p < 2; ++p) {
        uint32_t plane = 0;
        for (int j = 0; j < 4; ++j) {
          plane |= ((word_at(qh + 32 * h + 16 * p + 4 * j) >> (2 * k)) & 0x03030303) << (2 * j);
        }
        put_word(panel + 256 + 64 * p + 4 * row, plane);
      }
    }
  }
}

void pack_plain_row(int bytes, int in, const uint8_t* raw, int row, uint8_t* panel) {
  for (int k = 0; k < in; ++k) {
    std::memcpy(panel + (size_t(k) * kPanelRows + size_t(row)) * size_t(bytes),
                raw + size_t(k) * size_t(bytes), size_t(bytes));
  }
}

float half_of(const uint8_t* p, int lane) {
  uint16_t bits;
  std::memcpy(&bits, p + 2 * lane, 2);
  return half_to_float(bits);
}

// The unsigned value of input i of a block, for one row of the panel.
int quant_of(const PanelFormat& f, const uint8_t* block, int row, int i) {
  const int j = i / 4, byte = 4 * row + i % 4;
  if (f.bits == 8) return block[64 * j + byte];
  const int nibble = (block[64 * (j % 4) + byte] >> (j < 4 ? 0 : 4)) & 15;
  if (f.bits == 5) return nibble | ((block[256 + byte] >> j) & 1) << 4;
  if (f.bits == 6) return nibble | ((block[256 + 64 * (j / 4) + byte] >> (2 * (j % 4))) & 3) << 4;
  return nibble;
}

void unpack_row(const PanelLayout& layout, const uint8_t* panel, int row, float* out) {
  const PanelFormat& f = layout.format;
  const int per_unit = unit_blocks(f.scales);
  const uint8_t* scale = nullptr;
  for (int b = 0; b < layout.blocks; ++b, panel += quant_bytes(f.bits), out += kBlock) {
    const int g = b % per_unit;
    if (g == 0) {
      scale = panel;
      panel += scale_bytes(f.scales);
    }
    const float d = half_of(scale + (f.scales == Scales::d ? 32 * g : 0), row);
    for (int i = 0; i < kBlock; ++i) {
      const float q = float(quant_of(f, panel, row, i) - f.zero_point);
      switch (f.scales) {
        case Scales::dm:
          out[i] = d * q + half_of(scale + 32, row);
          break;
        case Scales::k:
          out[i] = d * float(scale[64 + 32 * g + row]) * q -
                   half_of(scale + 32, row) * float(scale[64 + 32 * g + 16 + row]);
          break;
        case Scales::six:
          out[i] = d * float(int8_t(scale[64 + 32 * g + (i < 16 ? 0 : 16) + row])) * q;
          break;
        default:
          out[i] = d * q;
      }
    }
  }
}

}  // namespace

PanelLayout panel_layout(DType type, int in) {
  const PanelFormat f = panel_format(type);
  if (f.scales == Scales::none) {
    return {f, 0, (size_t(in) * size_t(f.bits / 8) * kPanelRows + 63) / 64 * 64};
  }
  const int blocks = in / kBlock,
            units = (blocks + unit_blocks(f.scales) - 1) / unit_blocks(f.scales);
  return {f, blocks, size_t(units) * size_t(unit_bytes(f.bits, f.scales))};
}

void pack_panel(DType type, const PanelLayout& layout, const std::byte* raw, int rows,
                size_t row_bytes, std::byte* panel) {
  const auto* from = reinterpret_cast<const uint8_t*>(raw);
  auto* to = reinterpret_cast<uint8_t*>(panel);
  for (int r = 0; r < rows; ++r, from += row_bytes) {
    switch (layout.format.scales) {
      case Scales::d:
      case Scales::dm:
        pack_legacy_row(type, layout, from, r, to);
        break;
      case Scales::k:
        pack_k_row(layout, from, r, to);
        break;
      case Scales::six:
        pack_six_row(layout, from, r, to);
        break;
      case Scales::none: {
        const int bytes = layout.format.bits / 8;
        pack_plain_row(bytes, int(row_bytes / size_t(bytes)), from, r, to);
      }
    }
  }
}

PanelWeight::PanelWeight(const WeightSource& source, HostArena& arena, ThreadPool& pool)
    : type_(source.type),
      in_(source.in),
      out_(source.out),
      packed_(source.use != WeightSource::Use::lookup),
      layout_(panel_layout(type_, in_)) {
  const size_t row_size = row_bytes(type_, size_t(in_));
  bytes_ = packed_ ? layout_.panel_bytes * size_t(panels()) : row_size * size_t(out_);
  memory_ = arena.allocate(bytes_);
  const size_t panel_raw = row_size * kPanelRows;
  const int batch = int(std::max<size_t>(1, kReadBytes / panel_raw));
  if (!packed_) {
    for (int r = 0; r < out_; r += batch * kPanelRows) {
      const int rows = std::min(batch * kPanelRows, out_ - r);
      source.read(r, {memory_.get() + size_t(r) * row_size, size_t(rows) * row_size});
    }
    return;
  }
  std::vector<std::byte> raw(size_t(std::min(batch, panels())) * panel_raw);
  for (int p = 0; p < panels(); p += batch) {
    const int first = p * kPanelRows, count = std::min(batch, panels() - p);
    const int rows = std::min(count * kPanelRows, out_ - first);
    source.read(first, {raw.data(), size_t(rows) * row_size});
    pool.parallel_for(count, [&](int i, int) {
      pack_panel(type_, layout_, raw.data() + size_t(i) * panel_raw,
                 std::min(kPanelRows, rows - i * kPanelRows), row_size,
                 memory_.get() + size_t(p + i) * layout_.panel_bytes);
    });
  }
}

void PanelWeight::row(int r, float* out) const {
  assert(r >= 0 && r < out_);
  if (!packed_) {
    const size_t row_size = row_bytes(type_, size_t(in_));
    dequantize(type_, {memory_.get() + size_t(r) * row_size, row_size}, {out, size_t(in_)});
    return;
  }
  const auto* p = reinterpret_cast<const uint8_t*>(panel(r / kPanelRows));
  const int lane = r % kPanelRows;
  if (layout_.format.scales != Scales::none) return unpack_row(layout_, p, lane, out);
  const size_t bytes = size_t(layout_.format.bits / 8);
  std::vector<std::byte> raw(size_t(in_) * bytes);
  for (size_t k = 0; k < size_t(in_); ++k) {
    std::memcpy(&raw[k * bytes], p + (k * kPanelRows + size_t(lane)) * bytes, bytes);
  }
  dequantize(type_, raw, {out, size_t(in_)});
}

}  // namespace foretoken::kernels

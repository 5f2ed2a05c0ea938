#include "kernels/quant.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

namespace foretoken::kernels {
namespace {

constexpr DTypeInfo kTypes[] = {
    {DType::f32, "F32", 1, 4},       {DType::f16, "F16", 1, 2},
    {DType::q4_0, "Q4_0", 32, 18},   {DType::q4_1, "Q4_1", 32, 20},
    {DType::q5_0, "Q5_0", 32, 22},   {DType::q5_1, "Q5_1", 32, 24},
    {DType::q8_0, "Q8_0", 32, 34},   {DType::q4_k, "Q4_K", 256, 144},
    {DType::q5_k, "Q5_K", 256, 176}, {DType::q6_k, "Q6_K", 256, 210},
    {DType::bf16, "BF16", 1, 2},
};

struct GgufType {
  std::string_view name;
  int block;
  int bytes;
};

// Indexed by GGUF's id. Removed types keep their name and have no geometry.
constexpr GgufType kGgufTypes[] = {
    {"F32", 1, 4},        {"F16", 1, 2},        {"Q4_0", 32, 18},     {"Q4_1", 32, 20},
    {"Q4_2", 0, 0},       {"Q4_3", 0, 0},       {"Q5_0", 32, 22},     {"Q5_1", 32, 24},
    {"Q8_0", 32, 34},     {"Q8_1", 32, 36},     {"Q2_K", 256, 84},    {"Q3_K", 256, 110},
    {"Q4_K", 256, 144},   {"Q5_K", 256, 176},   {"Q6_K", 256, 210},   {"Q8_K", 256, 292},
    {"IQ2_XXS", 256, 66}, {"IQ2_XS", 256, 74},  {"IQ3_XXS", 256, 98}, {"IQ1_S", 256, 50},
    {"IQ4_NL", 32, 18},   {"IQ3_S", 256, 110},  {"IQ2_S", 256, 82},   {"IQ4_XS", 256, 136},
    {"I8", 1, 1},         {"I16", 1, 2},        {"I32", 1, 4},        {"I64", 1, 8},
    {"F64", 1, 8},        {"IQ1_M", 256, 56},   {"BF16", 1, 2},       {"Q4_0_4_4", 0, 0},
    {"Q4_0_4_8", 0, 0},   {"Q4_0_8_8", 0, 0},   {"TQ1_0", 256, 54},   {"TQ2_0", 256, 66},
    {"IQ4_NL_4_4", 0, 0}, {"IQ4_NL_4_8", 0, 0}, {"IQ4_NL_8_8", 0, 0}, {"MXFP4", 32, 17},
    {"NVFP4", 64, 36},    {"Q1_0", 128, 18},    {"Q2_0", 64, 18},
};

float half_at(const uint8_t* p) {
  uint16_t bits;
  std::memcpy(&bits, p, 2);
  return half_to_float(bits);
}

uint32_t word_at(const uint8_t* p) {
  uint32_t bits;
  std::memcpy(&bits, p, 4);
  return bits;
}

// Blocks of 32: byte j of `qs` holds element j in its low and element j + 16 in its high nibble.
void dequantize_q4_0(const uint8_t* b, float* y) {
  const float d = half_at(b);
  for (int j = 0; j < 16; ++j) {
    y[j] = d * float((b[2 + j] & 15) - 8);
    y[j + 16] = d * float((b[2 + j] >> 4) - 8);
  }
}

void dequantize_q4_1(const uint8_t* b, float* y) {
  const float d = half_at(b), m = half_at(b + 2);
  for (int j = 0; j < 16; ++j) {
    y[j] = d * float(b[4 + j] & 15) + m;
    y[j + 16] = d * float(b[4 + j] >> 4) + m;
  }
}

void dequantize_q5_0(const uint8_t* b, float* y) {
  const float d = half_at(b);
  const uint32_t high = word_at(b + 2);
  for (int j = 0; j < 16; ++j) {
    y[j] = d * float(int((b[6 + j] & 15) | ((high >> j) & 1) << 4) - 16);
    y[j + 16] = d * float(int((b[6 + j] >> 4) | ((high >> (j + 16)) & 1) << 4) - 16);
  }
}

void dequantize_q5_1(const uint8_t* b, float* y) {
  const float d = half_at(b), m = half_at(b + 2);
  const uint32_t high = word_at(b + 4);
  for (int j = 0; j < 16; ++j) {
    y[j] = d * float((b[8 + j] & 15) | ((high >> j) & 1) << 4) + m;
    y[j + 16] = d * float((b[8 + j] >> 4) | ((high >> (j + 16)) & 1) << 4) + m;
  }
}

void dequantize_q8_0(const uint8_t* b, float* y) {
  const float d = half_at(b);
  for (int j = 0; j < 32; ++j) y[j] = d * float(int8_t(b[2 + j]));
}

// Q4_K and Q5_K: eight groups of 32, y = (d S) q - (dmin M).
void dequantize_k(const uint8_t* b, const uint8_t* qh, const uint8_t* qs, float* y) {
  const float d = half_at(b), dmin = half_at(b + 2);
  for (int g = 0; g < 8; ++g) {
    const ScaleMin s = k_scale_min(b + 4, g);
    const float scale = d * float(s.scale), min = dmin * float(s.min);
    for (int l = 0; l < 32; ++l) {
      const int nibble = (qs[32 * (g / 2) + l] >> (4 * (g % 2))) & 15;
      const int high = qh ? ((qh[l] >> g) & 1) << 4 : 0;
      y[32 * g + l] = scale * float(nibble | high) - min;
    }
  }
}

void dequantize_q6_k(const uint8_t* b, float* y) {
  const uint8_t *ql = b, *qh = b + 128, *scales = b + 192;
  const float d = half_at(b + 208);
  for (int i = 0; i < 256; ++i) {
    const int h = i / 128, k = (i % 128) / 32, l = i % 32;
    const int nibble = (ql[64 * h + 32 * (k & 1) + l] >> (k < 2 ? 0 : 4)) & 15;
    const int q = (nibble | ((qh[32 * h + l] >> (2 * k)) & 3) << 4) - 32;
    y[i] = (d * float(int8_t(scales[i / 16]))) * float(q);
  }
}

void dequantize_block(DType type, const uint8_t* b, float* y) {
  switch (type) {
    case DType::f32:
      std::memcpy(y, b, 4);
      return;
    case DType::f16:
      *y = half_at(b);
      return;
    case DType::bf16:
      *y = std::bit_cast<float>(uint32_t(b[0]) << 16 | uint32_t(b[1]) << 24);
      return;
    case DType::q4_0:
      return dequantize_q4_0(b, y);
    case DType::q4_1:
      return dequantize_q4_1(b, y);
    case DType::q5_0:
      return dequantize_q5_0(b, y);
    case DType::q5_1:
      return dequantize_q5_1(b, y);
    case DType::q8_0:
      return dequantize_q8_0(b, y);
    case DType::q4_k:
      return dequantize_k(b, nullptr, b + 16, y);
    case DType::q5_k:
      return dequantize_k(b, b + 16, b + 48, y);
    case DType::q6_k:
      return dequantize_q6_k(b, y);
  }
}

}  // namespace

const DTypeInfo* dtype_info(uint32_t ggml_id) {
  for (const DTypeInfo& info : kTypes) {
    if (uint32_t(info.type) == ggml_id) return &info;
  }
  return nullptr;
}

std::span<const DTypeInfo> dtypes() {
  return kTypes;
}

std::string_view gguf_type_name(uint32_t ggml_id, int* block, int* bytes) {
  const GgufType type = ggml_id < std::size(kGgufTypes) ? kGgufTypes[ggml_id] : GgufType{"", 0, 0};
  if (block) *block = type.block;
  if (bytes) *bytes = type.bytes;
  return type.name;
}

ScaleMin k_scale_min(const uint8_t* q, int g) {
  if (g < 4) return {uint8_t(q[g] & 63), uint8_t(q[g + 4] & 63)};
  return {uint8_t((q[g + 4] & 15) | ((q[g - 4] >> 6) << 4)),
          uint8_t((q[g + 4] >> 4) | ((q[g] >> 6) << 4))};
}

void dequantize(DType type, std::span<const std::byte> blocks, std::span<float> out) {
  const DTypeInfo* info = dtype_info(type);
  assert(info && out.size() % size_t(info->block) == 0);
  assert(blocks.size() == row_bytes(type, out.size()));
  const auto* b = reinterpret_cast<const uint8_t*>(blocks.data());
  for (size_t i = 0; i < out.size(); i += size_t(info->block), b += info->bytes) {
    dequantize_block(type, b, out.data() + i);
  }
}

float half_to_float(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000) << 16;
  const uint32_t exponent = (h >> 10) & 31, mantissa = h & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) {  // zero and denormals: mantissa * 2^-24, exact
    const float magnitude = float(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = uint16_t((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | uint16_t((magnitude >> 13) & 0x1ff);  // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds to 65536 or more
  if (magnitude < 0x38800000) {
    // Below 2^-14 halves lie 2^-24 apart: adding 0.5 leaves |value| rounded to a multiple of it.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | uint16_t(std::bit_cast<uint32_t>(shifted) - 0x3f000000);
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23);
  return sign | uint16_t(rounded >> 13);
}

}  // namespace foretoken::kernels

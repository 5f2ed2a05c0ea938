#include "kernels/quant.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace foretoken::kernels {
namespace {

struct Golden {
  DType type;
  std::vector<int> d_at, quarter_at;  // where 1/16 and 1/4 are written as halves
  std::vector<float> first;
  std::vector<float> last;
  double sum, weighted;
};

// Byte i of a block is (73 i + 41) mod 256, then the scales; sums are exact in double.
const Golden kGolden[] = {
    {DType::q4_0,
     {0},
     {},
     {0.1875, -0.25, 0.3125, -0.125, 0.4375, 0},
     {-0.0625, 0.1875, -0.5},
     -2.0625,
     -49.9375},
    {DType::q4_1,
     {0},
     {2},
     {1.0625, 0.625, 1.1875, 0.75, 0.3125, 0.875},
     {0.25, 0.5, 0.8125},
     22.0625,
     348.625},
    {DType::q5_0,
     {0},
     {},
     {0.9375, 0.5, -0.9375, 0.625, 0.1875, 0.75},
     {-0.4375, -0.1875, 0.125},
     -2.8125,
     -74.0625},
    {DType::q5_1,
     {0},
     {2},
     {1.3125, 0.875, 1.4375, 2, 0.5625, 1.125},
     {1.375, 0.625, 0.9375},
     39.3125,
     635},
    {DType::q8_0,
     {0},
     {},
     {-4.3125, 0.25, 4.8125, -6.625, -2.0625, 2.5},
     {0, 4.5625, -6.875},
     -3,
     -43},
    {DType::q4_k,
     {0},
     {2},
     {-4.9375, -10.625, -3.3125, -9, -1.6875, -7.375},
     {-5.75, -5.75, -5.75},
     1815.5,
     301570},
    {DType::q5_k,
     {0},
     {2},
     {8.0625, -10.625, 9.6875, -9, 11.3125, -7.375},
     {-5.75, -5.75, -5.75},
     5360.5,
     772516},
    {DType::q6_k,
     {208},
     {},
     {10.0625, -2.875, -38.8125, 40.25, 4.3125, -8.625},
     {-60, -45, 18},
     -927.75,
     -101758},
};

TEST(Quant, GoldenBlocks) {
  for (const Golden& g : kGolden) {
    const DTypeInfo& info = *dtype_info(g.type);
    SCOPED_TRACE(info.name);
    std::vector<std::byte> block(static_cast<size_t>(info.bytes));
    for (int i = 0; i < info.bytes; ++i) block[size_t(i)] = std::byte((73 * i + 41) & 255);
    const auto put = [&](int at, uint16_t half) { std::memcpy(&block[size_t(at)], &half, 2); };
    for (const int at : g.d_at) put(at, 0x2C00);
    for (const int at : g.quarter_at) put(at, 0x3400);
    std::vector<float> y(static_cast<size_t>(info.block));
    dequantize(g.type, block, y);
    EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 6), g.first);
    EXPECT_EQ(std::vector<float>(y.end() - 3, y.end()), g.last);
    double sum = 0, weighted = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      sum += double(y[i]);
      weighted += double(i + 1) * double(y[i]);
    }
    EXPECT_EQ(sum, g.sum);
    EXPECT_EQ(weighted, g.weighted);
  }
}

TEST(Quant, PlainTypes) {
  const float f[] = {1.5f, -0.0f, 3e38f};
  float out[3];
  dequantize(DType::f32, std::as_bytes(std::span(f)), out);
  EXPECT_EQ(std::memcmp(f, out, sizeof f), 0);
  const uint16_t b[] = {0x3fc0, 0xc000, 0x7f80};
  dequantize(DType::bf16, std::as_bytes(std::span(b)), out);
  EXPECT_EQ(out[0], 1.5f);
  EXPECT_EQ(out[1], -2.0f);
  EXPECT_EQ(out[2], INFINITY);
}

TEST(Quant, Sizes) {
  EXPECT_EQ(row_bytes(DType::q4_k, 512), 288u);
  EXPECT_EQ(row_bytes(DType::q5_0, 896), 616u);
  EXPECT_EQ(dtype_info(0xffffffffu), nullptr);
  EXPECT_EQ(dtype_info(10), nullptr);
  int block = -1, bytes = -1;
  EXPECT_EQ(gguf_type_name(10, &block, &bytes), "Q2_K");
  EXPECT_EQ(block, 256);
  EXPECT_EQ(bytes, 84);
  EXPECT_EQ(gguf_type_name(39), "MXFP4");
  EXPECT_EQ(gguf_type_name(4, &block, &bytes), "Q4_2");
  EXPECT_EQ(block, 0);
  EXPECT_EQ(gguf_type_name(43, &block, &bytes), "");
  EXPECT_EQ(bytes, 0);
  for (const DTypeInfo& info : dtypes()) {
    EXPECT_EQ(gguf_type_name(uint32_t(info.type), &block, &bytes), info.name);
    EXPECT_EQ(block, info.block);
    EXPECT_EQ(bytes, info.bytes);
  }
}

TEST(Half, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t h = 0; h < 65536; ++h) {
    const float f = half_to_float(uint16_t(h));
    if ((h & 0x7c00) == 0x7c00 && (h & 0x3ff)) {
      EXPECT_TRUE(std::isnan(f));
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(f))));
    } else {
      ASSERT_EQ(float_to_half(f), h);
    }
  }
}

TEST(Half, RoundsToNearestTiesToEven) {
  for (uint32_t h = 0; h < 0x7bff; ++h) {
    const double a = half_to_float(uint16_t(h)), b = half_to_float(uint16_t(h + 1));
    const float middle = float((a + b) / 2);
    ASSERT_EQ(float_to_half(middle), h % 2 ? h + 1 : h);
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0f)), h);
    ASSERT_EQ(float_to_half(std::nextafter(middle, 1e9f)), h + 1);
    ASSERT_EQ(float_to_half(-middle), 0x8000 | (h % 2 ? h + 1 : h));
  }
  EXPECT_EQ(float_to_half(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(1e30f), 0x7c00);
  EXPECT_EQ(float_to_half(-INFINITY), 0xfc00);
  EXPECT_EQ(float_to_half(1e-10f), 0);
}

}  // namespace
}  // namespace foretoken::kernels

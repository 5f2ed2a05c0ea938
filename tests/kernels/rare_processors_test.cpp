// Kernels of processors that are rarely at hand, run here by other means: the AMX kernel's very
// source over tiles emulated in plain C++, and the AVX-VNNI kernel's over AVX-512's encoding of the
// same instruction. Both must give the bits of the AVX-512 kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/backend.h"
#include "kernels/cpu/panels.h"
#include "kernels/cpu/simd/kernels.h"
#include "kernels/quant.h"
#include "tests/support/kernel_rig.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include "kernels/cpu/amx/tile_matmul.h"
#include "kernels/cpu/simd/matmul.h"
#include "kernels/cpu/simd/vec_avx512.h"
#include "kernels/cpu/simd/vec_vnni256.h"

namespace foretoken::kernels {
namespace {

// The architecture's tiles: 8 of up to 16 rows x 64 bytes, shapes from the configuration.
struct EmulatedTiles {
  struct Tile {
    int rows, bytes;
    uint8_t data[16][64];
  };
  static inline Tile tiles[8] = {};
  static inline int configured = 0;

  static void configure(int rows, int k) {
    ASSERT_TRUE(rows >= 1 && rows <= 16 && k >= 4 && k <= 64 && k % 4 == 0);
    ++configured;
    for (int slot = 0; slot < 2; ++slot) {
      set(slot, rows, 64);
      set(2 + slot, rows, k);
      set(4 + slot, k / 4, 64);
    }
  }
  static void release() {
    for (Tile& t : tiles) t.rows = t.bytes = 0;
  }

  template <int slot>
  static void product(const int8_t* a, size_t stride, const std::byte* b, int32_t* c) {
    std::memset(tiles[slot].data, 0, sizeof tiles[slot].data);  // tilezero
    loadd(tiles[2 + slot], a, stride);
    loadd(tiles[4 + slot], b, 64);
    dpbssd(tiles[slot], tiles[2 + slot], tiles[4 + slot]);
    for (int r = 0; r < tiles[slot].rows; ++r) {
      std::memcpy(c + 16 * r, tiles[slot].data[r], size_t(tiles[slot].bytes));
    }
  }

 private:
  static void set(int i, int rows, int bytes) {
    tiles[i].rows = rows;
    tiles[i].bytes = bytes;
    std::memset(tiles[i].data, 0, sizeof tiles[i].data);
  }
  static void loadd(Tile& t, const void* from, size_t stride) {
    std::memset(t.data, 0, sizeof t.data);
    for (int r = 0; r < t.rows; ++r) {
      std::memcpy(t.data[r], static_cast<const char*>(from) + size_t(r) * stride, size_t(t.bytes));
    }
  }
  static void dpbssd(Tile& c, const Tile& a, const Tile& b) {
    for (int m = 0; m < c.rows; ++m) {
      for (int k = 0; k < a.bytes / 4; ++k) {
        for (int n = 0; n < c.bytes / 4; ++n) {
          int32_t sum;
          std::memcpy(&sum, &c.data[m][4 * n], 4);
          for (int i = 0; i < 4; ++i) {
            sum += int32_t(int8_t(a.data[m][4 * k + i])) * int8_t(b.data[k][4 * n + i]);
          }
          std::memcpy(&c.data[m][4 * n], &sum, 4);
        }
      }
    }
  }
};

using Matmul = decltype(CpuKernels::matmul);

Matmul emulated_tiles() {
  return simd::tile_matmul<Avx512, EmulatedTiles>;
}

struct VlDot {
  static __m256i dot(__m256i acc, __m256i u, __m256i s) { return _mm256_dpbusd_epi32(acc, u, s); }
};

Matmul emulated_avxvnni() {
  return simd::matmul<Vnni256<VlDot>>;
}

#pragma GCC diagnostic pop
#pragma GCC pop_options

void expect_bits_of_avx512(Matmul matmul) {
  for (const BackendEntry& b : backends()) {
    if (b.name == "avx512" && !b.runs_here())
      GTEST_SKIP() << "needs " << b.needs << ": not on this machine";
  }
  const CpuKernels& k = avx512_kernels();
  for (const DTypeInfo& info : dtypes()) {
    if (info.block == 1) continue;
    for (const int rows : {1, 5, 16, 17, 40}) {
      SCOPED_TRACE(testing::Message() << info.name << " rows " << rows);
      const int in = info.block == 256 ? 512 : 96, out = 41;
      const auto raw = random_rows(info.type, in, out, 1);
      HostArena arena;
      ThreadPool pool(1);
      const size_t row = row_bytes(info.type, size_t(in));
      const PanelWeight w({info.type, in, out, WeightSource::Use::matmul,
                           [&](int first, std::span<std::byte> to) {
                             std::memcpy(to.data(), raw.data() + size_t(first) * row, to.size());
                           }},
                          arena, pool);
      const size_t blocks = size_t(in / 32), n = size_t(rows) * blocks;
      std::vector<int8_t> q(n * 32);
      std::vector<float> scale(n), scaled(n);
      std::vector<int32_t> sum(n), half(2 * n);
      const Activations a{int(blocks),   q.data(),   scale.data(),
                          scaled.data(), sum.data(), half.data()};
      const auto x = random_floats(size_t(rows * in), 2);
      for (int t = 0; t < rows; ++t) k.quantize(&x[size_t(t * in)], a, t);
      const PanelView view{info.type, in, out, int(blocks), w.panel(0), w.layout().panel_bytes};
      const auto scratch = allocate_host_memory(matmul_scratch(k, in));
      std::vector<float> expected(size_t(rows * out), 1.0f), got = expected;
      const auto bias = random_floats(size_t(out), 3);
      k.matmul(view, 0, w.panels(), a, 0, rows, {expected.data(), size_t(out), bias.data(), true},
               scratch.get());
      matmul(view, 0, w.panels(), a, 0, rows, {got.data(), size_t(out), bias.data(), true},
             scratch.get());
      EXPECT_TRUE(same_bits(got, expected));
    }
  }
}

TEST(RareProcessors, EmulatedAmxTiles) {
  expect_bits_of_avx512(emulated_tiles());
  EXPECT_TRUE(EmulatedTiles::configured > 0 || testing::Test::IsSkipped());
}

TEST(RareProcessors, EmulatedAvxVnni) {
  expect_bits_of_avx512(emulated_avxvnni());
}

}  // namespace
}  // namespace foretoken::kernels

// The AMX tile unit behind five calls, so that the same kernel also runs on tiles emulated in plain
// C++ (tests). Two sets of tiles (slot 0 and 1) let one product overlap the next:
//   C (16 rows x 16 int32) += A (rows x k signed bytes) * B (k/4 rows x 16 x 4 signed bytes)
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace foretoken::kernels {

struct AmxTiles {
  /// `rows` activations rows (1 .. 16), `k` inputs (16 or 32) per product. Zero state elsewhere.
  static void configure(int rows, int k) {
    alignas(64) uint8_t config[64] = {};
    config[0] = 1;  // palette
    const auto shape = [&](int tile, int tile_rows, int bytes) {
      const uint16_t b = uint16_t(bytes);
      std::memcpy(config + 16 + 2 * tile, &b, 2);
      config[48 + tile] = uint8_t(tile_rows);
    };
    for (int slot = 0; slot < 2; ++slot) {
      shape(slot, rows, 64);
      shape(2 + slot, rows, k);
      shape(4 + slot, k / 4, 64);
    }
    // g++ takes the instruction to read 8 bytes of the 64; all must be written before.
    asm volatile("" : : "r"(config) : "memory");
    _tile_loadconfig(config);
  }
  static void release() { _tile_release(); }

  /// c[row][16] = a[row][k] * b; rows of a lie `stride` bytes apart, of b and c 64.
  template <int slot>
  static void product(const int8_t* a, size_t stride, const std::byte* b, int32_t* c) {
    // g++ does not know that a tile load reads memory: what was written must be there.
    asm volatile("" : : : "memory");
    if constexpr (slot == 0) {
      _tile_zero(0);
      _tile_loadd(2, a, stride);
      _tile_loadd(4, b, 64);
      _tile_dpbssd(0, 2, 4);
      _tile_stored(0, c, 64);
    } else {
      _tile_zero(1);
      _tile_loadd(3, a, stride);
      _tile_loadd(5, b, 64);
      _tile_dpbssd(1, 3, 5);
      _tile_stored(1, c, 64);
    }
  }
};

}  // namespace foretoken::kernels

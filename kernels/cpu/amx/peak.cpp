// 4 independent tiles of sums, tdpbusd: 16 x 16 sums of 64 products each.
#include <immintrin.h>

#include <cstdint>

#include "kernels/peaks.h"

namespace foretoken::kernels {

double int8_rounds_amx(int rounds) {
  struct alignas(64) Config {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t bytes_per_row[16] = {};
    uint8_t rows[16] = {};
  } config;
  for (int t = 0; t < 6; ++t) config.bytes_per_row[t] = 64, config.rows[t] = 16;
  // g++ takes the instruction to read 8 bytes of the 64; all must be written before.
  asm volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
  for (int n = 0; n < rounds; ++n) {
    _tile_dpbusd(0, 4, 5);
    _tile_dpbusd(1, 4, 5);
    _tile_dpbusd(2, 4, 5);
    _tile_dpbusd(3, 4, 5);
  }
  _tile_release();
  return double(rounds) * 4 * 16 * 16 * 64;
}

}  // namespace foretoken::kernels

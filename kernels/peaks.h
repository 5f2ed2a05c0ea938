// What the processor could do at most, measured: speeds are reported as shares of it.
#pragma once

#include <string_view>

namespace foretoken::kernels {

struct ArithmeticPeak {
  double macs_per_s = 0;            // 8-bit multiply-adds, all threads together
  std::string_view instructions;    // what they were measured with: "AMX tdpbusd", …
};

/// The best 8-bit dot product this processor has, in a loop that touches no memory; some 50 ms.
ArithmeticPeak measure_int8_peak(int threads);

/// One thread's share of that, in the instruction set's own translation unit: multiply-adds done
/// by `rounds` rounds of the loop. Entered only where the processor has the instructions.
double int8_rounds_amx(int rounds);
double int8_rounds_avx512(int rounds);
double int8_rounds_avx2(int rounds);

}  // namespace foretoken::kernels

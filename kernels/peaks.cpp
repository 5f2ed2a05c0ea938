#include "kernels/peaks.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "kernels/backend.h"

namespace foretoken::kernels {
namespace {

using Clock = std::chrono::steady_clock;

/// Multiply-adds a second of one thread, the best of a few short runs.
double best_rate(double (*rounds)(int)) {
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    const auto start = Clock::now();
    const double macs = rounds(50000);
    best = std::max(best, macs / std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

}  // namespace

ArithmeticPeak measure_int8_peak(int threads) {
  double (*rounds)(int) = nullptr;
  ArithmeticPeak peak;
  for (const BackendEntry& b : backends()) {
    if (!b.runs_here()) continue;
    if (b.name == "amx") rounds = int8_rounds_amx, peak.instructions = "AMX tdpbusd";
    if (b.name == "avx512") rounds = int8_rounds_avx512, peak.instructions = "AVX-512 vpdpbusd";
    if (b.name == "avx2") rounds = int8_rounds_avx2, peak.instructions = "AVX2 vpmaddubsw";
    if (rounds) break;
  }
  if (!rounds) return peak;
  std::vector<double> rates(static_cast<size_t>(std::max(1, threads)));
  std::vector<std::thread> workers;
  for (double& rate : rates) workers.emplace_back([&rate, rounds] { rate = best_rate(rounds); });
  for (std::thread& w : workers) w.join();
  for (const double rate : rates) peak.macs_per_s += rate;
  return peak;
}

}  // namespace foretoken::kernels

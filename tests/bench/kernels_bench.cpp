// Speed of the matrix products against what this machine can do: GB/s of decode (one row) beside
// the memory's read rate, GMAC/s of prefill (many rows) beside the 8-bit dot product's peak.
// usage: bench_kernels [backend [threads [rows]]]
//        bench_kernels attention [backend [threads]]
//        bench_kernels decode [backend [threads [tokens]]]   (a 0.5B model's decode, random
//        weights)
#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "kernels/cpu/host_memory.h"
#include "tests/support/kernel_rig.h"

using namespace foretoken::kernels;

namespace {

// Processor time of this thread where it works alone: the machine may be busy.
bool alone = false;

double now() {
  timespec t;
  clock_gettime(alone ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// Least time of several runs of f, after one that does not count.
template <class F>
double best(int runs, F&& f) {
  f();
  double least = 1e9;
  for (int i = 0; i < runs; ++i) {
    const double begin = now();
    f();
    least = std::min(least, now() - begin);
  }
  return least;
}

// Sum over threads of f(thread)'s rates.
template <class F>
double together(int threads, F&& f) {
  std::vector<double> rates(static_cast<size_t>(threads));
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back([&, t] { rates[size_t(t)] = f(t); });
  for (std::thread& w : workers) w.join();
  double sum = 0;
  for (const double r : rates) sum += r;
  return sum;
}

// Twelve chains of dots in registers; assembly, so that the compiler needs no AVX-512.
double vnni_rate() {
  constexpr int kRounds = 300000;
  const double t = best(5, [] {
    for (int n = 0; n < kRounds; ++n) {
      asm volatile(
          "vpdpbusd %%zmm30, %%zmm31, %%zmm0\n vpdpbusd %%zmm30, %%zmm31, %%zmm1\n"
          "vpdpbusd %%zmm30, %%zmm31, %%zmm2\n vpdpbusd %%zmm30, %%zmm31, %%zmm3\n"
          "vpdpbusd %%zmm30, %%zmm31, %%zmm4\n vpdpbusd %%zmm30, %%zmm31, %%zmm5\n"
          "vpdpbusd %%zmm30, %%zmm31, %%zmm6\n vpdpbusd %%zmm30, %%zmm31, %%zmm7\n"
          "vpdpbusd %%zmm30, %%zmm31, %%zmm8\n vpdpbusd %%zmm30, %%zmm31, %%zmm9\n"
          "vpdpbusd %%zmm30, %%zmm31, %%zmm10\n vpdpbusd %%zmm30, %%zmm31, %%zmm11\n" ::
              : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                "xmm10", "xmm11");
    }
  });
  return kRounds * 12 * 64 / t / 1e9;
}

double read_rate(const char* p, size_t n) {
  const double t = best(3, [&] {
    __m256i s[4] = {};
    for (size_t i = 0; i < n; i += 128) {
#pragma GCC unroll 4
      for (size_t j = 0; j < 4; ++j) {
        s[j] = _mm256_xor_si256(
            s[j], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i + 32 * j)));
      }
      _mm_prefetch(p + i + 4096, _MM_HINT_T0);
      _mm_prefetch(p + i + 4096 + 64, _MM_HINT_T0);
    }
    for (const __m256i& v : s) asm volatile("" : : "x"(v));
  });
  return double(n) / t / 1e9;
}

// Attention of one layer as in Qwen2.5-Coder-0.5B: the end of a prefill, and one decoded token.
int attention(const std::string& name, int threads) {
  Rig rig(make_backend(name, threads));
  alone = rig.backend().threads() == 1;
  for (const auto& [dim, kv_heads, group] :
       {std::array{64, 2, 7}, {64, 3, 3}, {128, 2, 6}, {256, 1, 4}}) {
    constexpr int kContext = 2048, kRows = 256;
    const int kv_cols = dim * kv_heads, cols = kv_cols * group;
    const auto pool = rig.backend().make_kv({1, kv_heads, dim, kContext / kPageTokens});
    std::vector<int32_t> pages(kContext / kPageTokens);
    for (size_t i = 0; i < pages.size(); ++i) pages[i] = int32_t(i);
    const Matrix k = rig.matrix(kContext, kv_cols, random_floats(size_t(kContext * kv_cols), 1));
    const double store = best(3, [&] { rig->kv_store(*pool, 0, pages, 0, k, k); });
    const Matrix q = rig.matrix(kRows, cols, random_floats(size_t(kRows * cols), 2)),
                 y = rig.matrix(kRows, cols);
    const double prefill =
        best(3, [&] { rig->attention(*pool, 0, pages, kContext - kRows, q, 0.1f, y); });
    const double decode =
        best(20, [&] { rig->attention(*pool, 0, pages, kContext - 1, q.row(0), 0.1f, y.row(0)); });
    const double work = 2.0 * kRows * (kContext - kRows / 2) * cols;
    std::printf(
        "head_dim %3d, %d x %d heads, context %d: store %.2f us/token; %d rows %.2f ms, %.0f "
        "GMAC/s; one row %.0f us, %.1f GB/s\n",
        dim, kv_heads, group, kContext, 1e6 * store / kContext, kRows, 1e3 * prefill,
        work / prefill / 1e9, 1e6 * decode, 4.0 * kContext * kv_cols / decode / 1e9);
  }
  return 0;
}

// One token after another through the shapes of Qwen2.5-Coder-0.5B Q4_K_M with random weights.
int decode(const std::string& name, int threads, int tokens) {
  constexpr int kWidth = 896, kKv = 128, kFfn = 4864, kLayers = 24, kVocabulary = 151936;
  Rig rig(make_backend(name, threads));
  const double loading = now();
  size_t bytes = 0;
  const auto load = [&](DType type, int in, int out) {
    auto w = rig.weight(type, in, out, random_rows(type, in, out, 1));
    bytes += w->bytes();
    return w;
  };
  struct Layer {
    std::unique_ptr<Weight> q, k, v, o, gate, up, down;
  };
  std::vector<Layer> layers;
  for (int i = 0; i < kLayers; ++i) {
    layers.push_back({load(DType::q5_0, kWidth, kWidth), load(DType::q5_0, kWidth, kKv),
                      load(DType::q8_0, kWidth, kKv), load(DType::q5_0, kWidth, kWidth),
                      load(DType::q5_0, kWidth, kFfn), load(DType::q5_0, kWidth, kFfn),
                      load(i % 2 ? DType::q6_k : DType::q4_k, kFfn, kWidth)});
  }
  const auto head = load(DType::q8_0, kWidth, kVocabulary);
  std::printf("%s: %.0f MB of weights, made in %.1f s\n", std::string(rig.backend().name()).c_str(),
              double(bytes) / 1e6, now() - loading);
  const auto pool = rig.backend().make_kv({kLayers, 2, 64, 16});
  std::vector<int32_t> pages(16);
  for (int i = 0; i < 16; ++i) pages[size_t(i)] = i;
  const Matrix x = rig.matrix(1, kWidth, random_floats(kWidth, 1)),
               gain = rig.matrix(1, kWidth, random_floats(kWidth, 2)),
               normed = rig.matrix(1, kWidth), q = rig.matrix(1, kWidth), k = rig.matrix(1, kKv),
               v = rig.matrix(1, kKv), mixed = rig.matrix(1, kWidth), gate = rig.matrix(1, kFfn),
               up = rig.matrix(1, kFfn), cos = rig.matrix(1, 32), sin = rig.matrix(1, 32),
               logits = rig.matrix(1, kVocabulary);
  std::vector<double> times;
  Selection selection;
  const double begin = now();
  for (int t = 0; t < tokens; ++t) {
    const double start = now();
    for (int i = 0; i < kLayers; ++i) {
      const Layer& l = layers[size_t(i)];
      rig->rms_norm(x, gain, 1e-6f, normed);
      const Stream::Product qkv[] = {
          {l.q.get(), nullptr, q}, {l.k.get(), nullptr, k}, {l.v.get(), nullptr, v}};
      rig->matmul_many(normed, qkv);
      rig->rope(q, cos, sin, 64, 64, true);
      rig->rope(k, cos, sin, 64, 64, true);
      rig->kv_store(*pool, i, pages, 400 + t, k, v);
      rig->attention(*pool, i, pages, 400 + t, q, 0.125f, mixed);
      rig->matmul(mixed, *l.o, nullptr, true, x);
      rig->rms_norm(x, gain, 1e-6f, normed);
      const Stream::Product two[] = {{l.gate.get(), nullptr, gate}, {l.up.get(), nullptr, up}};
      rig->matmul_many(normed, two);
      rig->silu_mul(gate, up, gate);
      rig->matmul(gate, *l.down, nullptr, true, x);
    }
    rig->rms_norm(x, gain, 1e-6f, normed);
    rig->matmul(normed, *head, nullptr, false, logits);
    rig->select(logits, {}, {}, 1, &selection);
    times.push_back(now() - start);
  }
  const double total = now() - begin;
  std::sort(times.begin(), times.end());
  std::printf(
      "%d tokens in %.0f ms: %.1f tokens/s (median token %.1f ms, best %.1f, worst %.1f), %.1f "
      "GB/s\n",
      tokens, 1e3 * total, tokens / total, 1e3 * times[times.size() / 2], 1e3 * times[0],
      1e3 * times.back(), double(bytes) * tokens / total / 1e9);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string("decode")) {
    return decode(argc > 2 ? argv[2] : "auto", argc > 3 ? std::atoi(argv[3]) : 0,
                  argc > 4 ? std::atoi(argv[4]) : 64);
  }
  if (argc > 1 && argv[1] == std::string("attention")) {
    return attention(argc > 2 ? argv[2] : "auto", argc > 3 ? std::atoi(argv[3]) : 0);
  }
  const std::string name = argc > 1 ? argv[1] : "auto";
  const int threads = argc > 2 ? std::atoi(argv[2]) : 0;
  const int rows = argc > 3 ? std::atoi(argv[3]) : 256;
  Rig rig(make_backend(name, threads));
  const int n = rig.backend().threads();
  alone = n == 1;
  std::printf("backend %s, %d threads\n", std::string(rig.backend().name()).c_str(), n);

  constexpr size_t kRead = size_t{256} << 20;
  const HostMemory memory = allocate_host_memory(kRead * size_t(n));
  std::memset(memory.get(), 1, kRead * size_t(n));
  const char* begin = reinterpret_cast<const char*>(memory.get());
  const double memory_peak =
      together(n, [&](int t) { return read_rate(begin + size_t(t) * kRead, kRead); });
  const double dot_peak =
      __builtin_cpu_supports("avx512vnni") ? together(n, [&](int) { return vnni_rate(); }) : 0;
  std::printf("memory read %.1f GB/s, VNNI %.0f GMAC/s\n", memory_peak, dot_peak);
  std::printf("%-5s %12s %10s %6s %12s %6s\n", "type", "in x out", "GB/s", "%", "GMAC/s", "%");
  for (const DTypeInfo& info : dtypes()) {
    for (const auto& [in, out] : {std::pair{896, 896}, {896, 4864}, {4864, 896}, {576, 1536}}) {
      if (in % info.block) continue;
      // Enough copies that none stays in the cache.
      const auto raw = random_rows(info.type, in, out, 1);
      std::vector<std::unique_ptr<Weight>> copies;
      size_t bytes = 0;
      while (bytes < (size_t{192} << 20)) {
        copies.push_back(rig.weight(info.type, in, out, raw));
        bytes += copies.back()->bytes();
      }
      const Matrix x = rig.matrix(rows, in, random_floats(size_t(rows) * size_t(in), 2));
      const Matrix y = rig.matrix(rows, out);
      const double decode = best(4, [&] {
        for (const auto& w : copies) rig->matmul(x.row(0), *w, nullptr, false, y.row(0));
      });
      const size_t few = std::min<size_t>(copies.size(), 4);
      const double prefill = best(4, [&] {
        for (size_t i = 0; i < few; ++i) rig->matmul(x, *copies[i], nullptr, false, y);
      });
      const double gb = double(bytes) / decode / 1e9;
      const double gmac = double(few) * rows * in * out / prefill / 1e9;
      std::printf("%-5s %6dx%-5d %10.1f %5.0f%% %12.0f %5.0f%%\n", std::string(info.name).c_str(),
                  in, out, gb, 100 * gb / memory_peak, gmac,
                  dot_peak > 0 ? 100 * gmac / dot_peak : 0);
    }
  }
}

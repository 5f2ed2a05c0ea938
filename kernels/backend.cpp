#include "kernels/backend.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/reference/reference.h"

namespace foretoken::kernels {
namespace {

bool runs_avx2() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kF16c = 1u << 29;  // of leaf 1, ecx; clang knows no name for it
  return __get_cpuid(1, &a, &b, &c, &d) && (c & kF16c) != 0 && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}

bool has_avxvnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 4) != 0;
}

bool runs_avx512() {
  return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

// The processor has tiles and int8 products, the kernel saves their state, and this process may use
// it (asked for once, granted for good).
bool runs_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!runs_avx512() || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25;
  if ((d & kTile) == 0 || (d & kInt8) == 0) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool runs_reference() {
  return true;
}

std::unique_ptr<Backend> make_amx(int threads) {
  return make_cpu_backend(amx_kernels(), threads);
}
std::unique_ptr<Backend> make_avx512(int threads) {
  return make_cpu_backend(avx512_kernels(), threads);
}
std::unique_ptr<Backend> make_avx2(int threads) {
  return make_cpu_backend(has_avxvnni() ? avxvnni_kernels() : avx2_kernels(), threads);
}
std::unique_ptr<Backend> make_reference(int threads) {
  return make_reference_backend(allocate_host_memory, threads);
}

constexpr BackendEntry kBackends[] = {
    {"amx", "AMX int8 tiles", runs_amx, make_amx},
    {"avx512", "AVX-512 F/BW/DQ/VL/VNNI", runs_avx512, make_avx512},
    {"avx2", "AVX2, FMA, F16C and BMI2", runs_avx2, make_avx2},
    {"reference", "nothing", runs_reference, make_reference},
};

}  // namespace

std::span<const BackendEntry> backends() {
  return kBackends;
}

std::unique_ptr<Backend> make_backend(std::string_view name, int threads) {
  std::string here;
  const BackendEntry* wanted = nullptr;
  for (const BackendEntry& b : kBackends) {
    if (b.name == name) wanted = &b;
    if (!b.runs_here()) continue;
    if (name == "auto" || name == b.name) return b.make(threads);
    here += here.empty() ? "" : ", ";
    here += b.name;
  }
  const std::string quoted = "backend '" + std::string(name) + "' ";
  if (wanted) {
    throw std::runtime_error(quoted + "needs " + std::string(wanted->needs) +
                             ", which this processor lacks; available here: " + here);
  }
  throw std::runtime_error(quoted + "is unknown; available here: " + here);
}

}  // namespace foretoken::kernels

#include "kernels/cpu/host_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace foretoken::kernels {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kRegion = size_t{32} << 20;

size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

HostMemory map_huge(size_t bytes) {
  const size_t length = round_up(bytes, kHugePage);
  if (length < bytes) throw std::bad_alloc();
  void* p =
      mmap(nullptr, length + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  const auto begin = reinterpret_cast<uintptr_t>(p);
  const uintptr_t aligned = round_up(begin, kHugePage);
  if (aligned > begin) munmap(p, aligned - begin);
  const uintptr_t end = begin + length + kHugePage;
  if (end > aligned + length) {
    munmap(reinterpret_cast<void*>(aligned + length), end - aligned - length);
  }
  auto* memory = reinterpret_cast<std::byte*>(aligned);
  madvise(memory, length, MADV_HUGEPAGE);  // advice: works without, only slower
  return HostMemory(memory, [length](std::byte* m) { munmap(m, length); });
}

}  // namespace

HostMemory allocate_host_memory(size_t bytes) {
  if (bytes >= (size_t{1} << 20)) return map_huge(bytes);
  const size_t length = round_up(bytes ? bytes : 1, 64);
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, length));
  if (!memory) throw std::bad_alloc();
  std::memset(memory, 0, length);
  return HostMemory(memory, [](std::byte* m) { std::free(m); });
}

HostMemory HostArena::allocate(size_t bytes) {
  const size_t need = round_up(bytes ? bytes : 1, 64);
  if (need < bytes) throw std::bad_alloc();
  if (need >= kRegion / 2) return allocate_host_memory(need);
  const std::lock_guard lock(mutex_);
  if (!region_ || size_ - used_ < need) {
    region_ = allocate_host_memory(kRegion);
    size_ = kRegion;
    used_ = 0;
  }
  HostMemory block(region_, region_.get() + used_);
  used_ += need;
  return block;
}

}  // namespace foretoken::kernels

#include "lsp/machine.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

namespace foretoken::lsp {
namespace {

std::string value_of(const char* file, const std::string& key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    const size_t at = line.find_first_not_of(" \t", line.find(':') + 1);
    return at == std::string::npos ? "" : line.substr(at);
  }
  return "";
}

uint64_t number_in(const std::string& text) {
  return text.empty() || !std::isdigit(static_cast<unsigned char>(text[0])) ? 0 : std::stoull(text);
}

std::string first_line(const char* file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

}  // namespace

Machine Machine::look() {
  Machine machine;
  machine.processor = value_of("/proc/cpuinfo", "model name");
  if (machine.processor.empty()) machine.processor = "unknown processor";
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) machine.processors = CPU_COUNT(&set);
  machine.memory_total = number_in(value_of("/proc/meminfo", "MemTotal")) * 1024;
  machine.memory_available = number_in(value_of("/proc/meminfo", "MemAvailable")) * 1024;
  // A container's limit ("max": none), control groups version 2.
  if (const uint64_t limit = number_in(first_line("/sys/fs/cgroup/memory.max"))) {
    const uint64_t used = number_in(first_line("/sys/fs/cgroup/memory.current"));
    machine.memory_total = std::min(machine.memory_total, limit);
    machine.memory_available = std::min(machine.memory_available, limit - std::min(limit, used));
  }
  const std::string pages = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t begin = pages.find('['), end = pages.find(']');
  if (begin != std::string::npos && end != std::string::npos) {
    machine.huge_pages = pages.substr(begin + 1, end - begin - 1);
  }
  return machine;
}

double measured_read_bandwidth(int threads) {
  using Clock = std::chrono::steady_clock;
  using Lane = uint64_t __attribute__((vector_size(16)));
  constexpr size_t kLanes = (256u << 20) / sizeof(Lane), kBlock = (1u << 20) / sizeof(Lane);
  threads = std::clamp(threads, 1, 64);
  const std::vector<Lane> memory(kLanes, Lane{1, 1});
  std::atomic<uint64_t> read_bytes = 0, sink = 0;
  const auto begin = Clock::now(), end = begin + std::chrono::milliseconds(100);
  std::vector<std::jthread> readers;
  for (int t = 0; t < threads; ++t) {
    readers.emplace_back([&, t] {
      Lane a{}, b{}, c{}, d{};
      uint64_t blocks = 0;
      for (size_t at = size_t(t); Clock::now() < end; at += size_t(threads), ++blocks) {
        const Lane* block = &memory[at % (kLanes / kBlock) * kBlock];
        for (size_t i = 0; i < kBlock; i += 4) {
          a += block[i], b += block[i + 1], c += block[i + 2], d += block[i + 3];
        }
      }
      sink += (a + b + c + d)[0];
      read_bytes += blocks * kBlock * sizeof(Lane);
    });
  }
  readers.clear();
  return double(read_bytes) / std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace foretoken::lsp

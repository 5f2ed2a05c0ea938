// What this machine is: processor, memory, page settings. Read from /proc and /sys; no network.
#pragma once

#include <cstdint>
#include <string>

namespace foretoken::lsp {

/// Immutable value.
struct Machine {
  std::string processor;      // "AMD EPYC 9B45"
  int processors = 1;         // logical ones that this process may use
  uint64_t memory_total = 0;  // bytes; the control group's limit where it is lower
  uint64_t memory_available = 0;
  std::string huge_pages;  // "always", "madvise", "never"; "": unknown

  static Machine look();
};

/// Bytes a second that `threads` threads read from memory: a probe of about 100 ms over 256 MB.
double measured_read_bandwidth(int threads);

}  // namespace foretoken::lsp

#include "lsp/memory.h"

#include <fstream>
#include <string>

namespace foretoken::lsp {
namespace {

uint64_t status_field(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

}  // namespace

uint64_t resident_bytes() { return status_field("VmRSS"); }
uint64_t peak_resident_bytes() { return status_field("VmHWM"); }

}  // namespace foretoken::lsp

// The ordered table of backends: what exists, what this machine can run, and which one to take.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/ops.h"

namespace foretoken::kernels {

struct BackendEntry {
  std::string_view name;
  std::string_view needs;      // "AVX-512 F/BW/DQ/VL/VNNI", for people
  bool (*runs_here)();         // asks the processor (and, for amx, the kernel's permission)
  std::unique_ptr<Backend> (*make)(int threads);
};

/// Best first; `reference` last.
std::span<const BackendEntry> backends();

/// `name` "auto" takes the best that runs here. Throws std::runtime_error naming the backend and
/// what it needs where it is unknown or this machine lacks it. threads 0: one per core.
std::unique_ptr<Backend> make_backend(std::string_view name, int threads);

}  // namespace foretoken::kernels

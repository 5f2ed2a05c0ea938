// What a run of measured values says, in few numbers.
#pragma once

#include <cstddef>
#include <vector>

namespace foretoken::lsp {

/// Nearest rank: each is a value that was measured. Zeros where count is 0. Immutable value.
struct Percentiles {
  size_t count = 0;
  double min = 0, p50 = 0, p95 = 0, p99 = 0, max = 0;
};

Percentiles percentiles(std::vector<double> values);

}  // namespace foretoken::lsp

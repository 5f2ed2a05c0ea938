#include "lsp/percentiles.h"

#include <algorithm>

namespace foretoken::lsp {

Percentiles percentiles(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  const auto at = [&](size_t percent) { return values[(n * percent + 99) / 100 - 1]; };
  return {n, values.front(), at(50), at(95), at(99), values.back()};
}

}  // namespace foretoken::lsp

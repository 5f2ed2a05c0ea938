// From a run-time count to a template argument.
#pragma once

namespace foretoken::kernels::simd {

/// f.operator()<n>(), 1 <= n <= kMax.
template <int kMax, class Function>
inline void with_count(int n, Function&& f) {
  if constexpr (kMax > 1) {
    if (n < kMax) return with_count<kMax - 1>(n, f);
  }
  f.template operator()<kMax>();
}

}  // namespace foretoken::kernels::simd

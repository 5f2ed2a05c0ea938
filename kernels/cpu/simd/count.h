// From a run-time count to template arguments.
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

/// f(first, count) for parts of [0, n) of at most `most`, as equal as can be: a tile of one row
/// beside one of six would cost nearly as much as two of four.
template <class Function>
inline void for_parts(int n, int most, Function&& f) {
  int first = 0;
  for (int parts = (n + most - 1) / most; parts > 0; --parts) {
    const int count = (n - first + parts - 1) / parts;
    f(first, count);
    first += count;
  }
}

}  // namespace foretoken::kernels::simd

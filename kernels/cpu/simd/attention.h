// Causal attention of one KV head, page by page in position order (online softmax):
//
//   s[j] = sum_d (scale q[d]) k[d][j];  m' = max(m, max_j s);  p[j] = exp(s[j] - m')
//   l = l exp(m - m') + sum_j p[j];     o[d] = o[d] exp(m - m') + sum_j p[j] v[j][d];  out = o / l
//
// Keys lie transposed ([head_dim][64] halves), so lanes are positions and q[d] is broadcast; values
// lie [64][v_dim], so lanes are dimensions and p[j] is broadcast: no sum across lanes but two per
// page. Up to kQueries queries (heads of the group, rows) share each load of a key or value.
// A query's result depends on its own position only: it stops exactly at its last position.
//
// Bound by float arithmetic: 2 head_dim multiplications per query and position. Bytes per page:
// 2 * 64 * (head_dim + v_dim), read and turned into floats once per block of queries.
#pragma once

#include "kernels/cpu/simd/count.h"
#include "kernels/cpu/simd/elementwise.h"

namespace foretoken::kernels::simd {

struct AttentionState {
  int length;  // positions this query sees
  float max, total;
  float* q;    // [head_dim], scaled
  float* sum;  // [v_dim]
};

/// p[i][at ..] = scores of query i against N vectors of positions.
template <class V, int Q, int N>
inline void score_vectors(const uint16_t* keys, int head_dim, const AttentionState* s,
                          float (*p)[kPageTokens], int at) {
  typename V::F acc[Q][N];
#pragma GCC unroll 8
  for (int i = 0; i < Q; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) acc[i][v] = V::zero();
  }
  for (int d = 0; d < head_dim; ++d) {
    typename V::F k[N];
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) k[v] = V::load_half(keys + d * kPageTokens + at + 16 * v);
#pragma GCC unroll 8
    for (int i = 0; i < Q; ++i) {
      const typename V::F q = V::set1(s[i].q[d]);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) acc[i][v] = V::fma(q, k[v], acc[i][v]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Q; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) V::store(p[i] + at + 16 * v, acc[i][v]);
  }
}

/// sum[i][at ..] = sum * factor[i] + the first n values weighed by p[i], N vectors of dimensions.
template <class V, int Q, int N>
inline void add_values(const uint16_t* values, int v_dim, int n, const AttentionState* s,
                       const float (*p)[kPageTokens], const float* factor, int at) {
  typename V::F acc[Q][N];
#pragma GCC unroll 8
  for (int i = 0; i < Q; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) {
      acc[i][v] = V::mul(V::load(s[i].sum + at + 16 * v), V::set1(factor[i]));
    }
  }
  for (int j = 0; j < n; ++j) {
    typename V::F value[N];
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) value[v] = V::load_half(values + j * v_dim + at + 16 * v);
#pragma GCC unroll 8
    for (int i = 0; i < Q; ++i) {
      const typename V::F weight = V::set1(p[i][j]);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) acc[i][v] = V::fma(weight, value[v], acc[i][v]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Q; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) V::store(s[i].sum + at + 16 * v, acc[i][v]);
  }
}

/// Scores p of the first n positions become weights, in place; the state moves to the new maximum.
/// Returns the factor of what was summed before.
template <class V>
inline float soften(AttentionState& s, float* p, int n) {
  using F = typename V::F;
  const F lowest = V::set1(-__builtin_inff());
  F score[4], max = lowest;
  for (int v = 0; v < 4; ++v) {
    const int count = n - 16 * v;
    score[v] = count <= 0 ? lowest : V::load(p + 16 * v);
    if (count < 16 && count > 0) score[v] = V::first_n(score[v], count, lowest);
    max = V::max(max, score[v]);
  }
  const float page_max = V::largest(max);
  const float m = page_max > s.max ? page_max : s.max;
  F sum = V::zero();
  for (int v = 0; v < 4; ++v) {
    const F weight = exp<V>(V::sub(score[v], V::set1(m)));
    sum = V::add(sum, weight);
    V::store(p + 16 * v, weight);
  }
  const float factor = V::first(exp<V>(V::set1(s.max - m)));
  s.total = s.total * factor + V::sum(sum);
  s.max = m;
  return factor;
}

/// Q queries that all see the first n positions of a page.
template <class V, int Q>
inline void attend_page(const uint16_t* keys, int head_dim, const uint16_t* values, int v_dim,
                        int n, AttentionState* s) {
  constexpr int N = V::kVectors;
  alignas(64) float p[Q][kPageTokens];
  for (int at = 0; at < n; at += 16 * N) score_vectors<V, Q, N>(keys, head_dim, s, p, at);
  float factor[Q];
  for (int i = 0; i < Q; ++i) factor[i] = soften<V>(s[i], p[i], n);
  int at = 0;
  for (; at + 16 * N <= v_dim; at += 16 * N) {
    add_values<V, Q, N>(values, v_dim, n, s, p, factor, at);
  }
  for (; at < v_dim; at += 16) add_values<V, Q, 1>(values, v_dim, n, s, p, factor, at);
}

/// `count` queries against one page, in blocks of nearly equal size.
template <class V>
inline void attend_queries(const uint16_t* keys, int head_dim, const uint16_t* values, int v_dim,
                           int position, AttentionState* s, int count) {
  const auto seen = [&](const AttentionState& q) {
    const int n = q.length - position;
    return n < 0 ? 0 : n > kPageTokens ? kPageTokens : n;
  };
  for (int i = 0; i < count;) {
    const int n = seen(s[i]);
    int run = 1;
    while (i + run < count && seen(s[i + run]) == n) ++run;
    const int end = i + run;
    for (int blocks = (run + V::kQueries - 1) / V::kQueries; n > 0 && blocks > 0; --blocks) {
      const int block = (end - i + blocks - 1) / blocks;
      with_count<V::kQueries>(
          block, [&]<int Q>() { attend_page<V, Q>(keys, head_dim, values, v_dim, n, s + i); });
      i += block;
    }
    i = end;
  }
}

template <class V>
void attention(const AttentionPiece& piece, std::byte* scratch) {
  const int dim = piece.head_dim, v_dim = piece.v_dim, count = piece.rows * piece.heads;
  auto* s = reinterpret_cast<AttentionState*>(scratch);
  auto* floats = reinterpret_cast<float*>(scratch + size_t(count) * 64);
  const auto query = [&](int i, const float* base, size_t stride) {
    return base + size_t(piece.row + i / piece.heads) * stride +
           (piece.head + i % piece.heads) * dim;
  };
  for (int i = 0; i < count; ++i, floats += 2 * v_dim) {
    s[i] = {piece.first + piece.row + i / piece.heads + 1, -__builtin_inff(), 0, floats,
            floats + v_dim};
    const float* q = query(i, piece.q, piece.q_stride);
    for (int d = 0; d < dim; ++d) s[i].q[d] = q[d] * piece.scale;
    for (int d = 0; d < v_dim; ++d) s[i].sum[d] = 0;
  }
  for (int position = 0; position < s[count - 1].length; position += kPageTokens) {
    const uint16_t* keys = piece.pages[position / kPageTokens];
    const uint16_t* values = keys + dim * kPageTokens;
    attend_queries<V>(keys, dim, values, v_dim, position, s, count);
  }
  for (int i = 0; i < count; ++i) {
    float* out = const_cast<float*>(query(i, piece.out, piece.out_stride));
    const typename V::F inverse = V::set1(1.0f / s[i].total);
    for (int d = 0; d < dim; d += 16) {
      const int n = dim - d < 16 ? dim - d : 16;
      V::store_n(out + d, V::mul(V::load(s[i].sum + d), inverse), n);
    }
  }
}

}  // namespace foretoken::kernels::simd

// Causal attention of one KV head, page by page in position order (online softmax):
//
//   s[j] = sum_d (scale q[d]) k[d][j];  m' = max(m, max_j s);  p[j] = exp(s[j] - m')
//   l = l exp(m - m') + sum_j p[j];     o[d] = o[d] exp(m - m') + sum_j p[j] v[j][d];  out = o / l
//
// Keys lie transposed ([head_dim][64] halves), so lanes are positions and q[d] is broadcast; values
// lie [64][v_dim], so lanes are dimensions and p[j] is broadcast: no sum across lanes but two per
// page. Up to kQueries queries (the heads of the group, then the next token's) share each load.
// A query's result depends on its own position only: it stops exactly at its last position.
// Bytes per page: 2 * 64 * (head_dim + v_dim), read once per kQueries queries.
#pragma once

#include "kernels/cpu/simd/count.h"
#include "kernels/cpu/simd/elementwise.h"

namespace foretoken::kernels::simd {

struct AttentionState {
  float max, total;
  float* q;    // [head_dim], scaled
  float* sum;  // [v_dim]
  float* p;    // [64]
};

template <class V, int Q, int N>
inline void score_vectors(const uint16_t* keys, int head_dim, AttentionState* const* s, int at) {
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
      const typename V::F q = V::set1(s[i]->q[d]);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) acc[i][v] = V::fma(q, k[v], acc[i][v]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Q; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) V::store(s[i]->p + at + 16 * v, acc[i][v]);
  }
}

template <class V, int Q, int N>
inline void add_values(const uint16_t* values, int v_dim, int n, AttentionState* const* s,
                       const float* factor, int at) {
  typename V::F acc[Q][N];
#pragma GCC unroll 8
  for (int i = 0; i < Q; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) {
      acc[i][v] = V::mul(V::load(s[i]->sum + at + 16 * v), V::set1(factor[i]));
    }
  }
  for (int j = 0; j < n; ++j) {
    typename V::F value[N];
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) value[v] = V::load_half(values + j * v_dim + at + 16 * v);
#pragma GCC unroll 8
    for (int i = 0; i < Q; ++i) {
      const typename V::F p = V::set1(s[i]->p[j]);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) acc[i][v] = V::fma(p, value[v], acc[i][v]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Q; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) V::store(s[i]->sum + at + 16 * v, acc[i][v]);
  }
}

/// Q queries that all see the first n positions of a page.
template <class V, int Q>
inline void attend_page(const AttentionPiece& piece, const uint16_t* page, int n,
                        AttentionState* const* s) {
  using F = typename V::F;
  constexpr int kStep = 16 * V::kVectors;
  for (int at = 0; at < n; at += kStep) score_vectors<V, Q, V::kVectors>(page, piece.head_dim, s, at);
  float factor[Q];
  const F lowest = V::set1(-__builtin_inff());
#pragma GCC unroll 8
  for (int i = 0; i < Q; ++i) {
    F score[4], max = lowest;
#pragma GCC unroll 8
    for (int v = 0; v < 4; ++v) {
      const int count = n - 16 * v;
      score[v] = count <= 0 ? lowest : V::load(s[i]->p + 16 * v);
      if (count < 16 && count > 0) score[v] = V::first_n(score[v], count, lowest);
      max = V::max(max, score[v]);
    }
    const float page_max = max_lanes<V>(max);
    const float m = page_max > s[i]->max ? page_max : s[i]->max;
    F sum = V::zero();
#pragma GCC unroll 8
    for (int v = 0; v < 4; ++v) {
      const F p = exp<V>(V::sub(score[v], V::set1(m)));
      sum = V::add(sum, p);
      V::store(s[i]->p + 16 * v, p);
    }
    alignas(64) float f[16];
    V::store(f, exp<V>(V::set1(s[i]->max - m)));
    factor[i] = f[0];
    s[i]->total = s[i]->total * f[0] + sum_lanes<V>(sum);
    s[i]->max = m;
  }
  const uint16_t* values = page + piece.head_dim * kPageTokens;
  int at = 0;
  for (; at + kStep <= piece.v_dim; at += kStep) {
    add_values<V, Q, V::kVectors>(values, piece.v_dim, n, s, factor, at);
  }
  for (; at < piece.v_dim; at += 16) add_values<V, Q, 1>(values, piece.v_dim, n, s, factor, at);
}

template <class V>
void attention(const AttentionPiece& piece, std::byte* scratch) {
  const size_t dim = size_t(piece.v_dim);
  AttentionState state[V::kQueries];
  auto* floats = reinterpret_cast<float*>(scratch);
  for (int i = 0; i < V::kQueries; ++i, floats += 2 * dim + kPageTokens) {
    state[i].q = floats;
    state[i].sum = floats + dim;
    state[i].p = floats + 2 * dim;
  }
  const int queries = piece.rows * piece.heads;
  for (int first = 0; first < queries; first += V::kQueries) {
    const int count = queries - first < V::kQueries ? queries - first : V::kQueries;
    int length[V::kQueries];  // positions that the query sees
    for (int i = 0; i < count; ++i) {
      const int row = piece.row + (first + i) / piece.heads;
      const int head = piece.head + (first + i) % piece.heads;
      const float* q = piece.q + size_t(row) * piece.q_stride + head * piece.head_dim;
      AttentionState& s = state[i];
      for (int d = 0; d < piece.head_dim; ++d) s.q[d] = q[d] * piece.scale;
      for (size_t d = 0; d < dim; ++d) s.sum[d] = 0;
      s.max = -__builtin_inff();
      s.total = 0;
      length[i] = piece.first + row + 1;
    }
    const int pages = (length[count - 1] + kPageTokens - 1) / kPageTokens;
    for (int page = 0; page < pages; ++page) {
      const auto seen = [&](int i) {
        const int n = length[i] - page * kPageTokens;
        return n < 0 ? 0 : n > kPageTokens ? kPageTokens : n;
      };
      for (int i = 0; i < count;) {
        const int n = seen(i);
        int run = 1;
        while (i + run < count && seen(i + run) == n) ++run;
        if (n > 0) {
          AttentionState* s[V::kQueries];
          for (int k = 0; k < run; ++k) s[k] = &state[i + k];
          with_count<V::kQueries>(run, [&]<int Q>() {
            attend_page<V, Q>(piece, piece.pages[page], n, s);
          });
        }
        i += run;
      }
    }
    for (int i = 0; i < count; ++i) {
      const int row = piece.row + (first + i) / piece.heads;
      const int head = piece.head + (first + i) % piece.heads;
      float* out = piece.out + size_t(row) * piece.out_stride + head * piece.head_dim;
      const typename V::F inverse = V::set1(1.0f / state[i].total);
      for (int d = 0; d < piece.head_dim; d += 16) {
        const int n = piece.head_dim - d < 16 ? piece.head_dim - d : 16;
        V::store_n(out + d, V::mul(V::load(state[i].sum + d), inverse), n);
      }
    }
  }
}

}  // namespace foretoken::kernels::simd

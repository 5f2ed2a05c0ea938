#include "engine/forward.h"

namespace foretoken::engine {

using kernels::Matrix;
using kernels::Stream;

namespace {

size_t padded(size_t floats) { return (floats + 15) / 16 * 16; }  // whole cache lines

}  // namespace

size_t Forward::activation_bytes(const ModelConfig& c, int max_rows) {
  const size_t rows = size_t(max_rows), h = size_t(c.heads) * size_t(c.head_dim),
               g = size_t(c.kv_heads) * size_t(c.head_dim);
  const size_t floats = 2 * padded(rows * size_t(c.width)) + 2 * padded(rows * h) +
                        2 * padded(rows * g) + 2 * padded(rows * size_t(c.ffn)) +
                        2 * padded(rows * size_t(c.rope.dims / 2)) + padded(size_t(c.vocabulary));
  return floats * sizeof(float);
}

Matrix Forward::take(int rows, int cols) {
  const Matrix m{memory_.get(), used_, rows, cols, cols};
  used_ += padded(size_t(rows) * size_t(cols));
  return m;
}

Forward::Forward(const Model& model, kernels::Backend& backend, Stream& stream, int max_rows)
    : model_(model), stream_(stream), max_rows_(max_rows) {
  const ModelConfig& c = model.config;
  memory_ = backend.allocate(activation_bytes(c, max_rows));
  x_ = take(max_rows, c.width);
  normed_ = take(max_rows, c.width);
  q_ = take(max_rows, c.heads * c.head_dim);
  k_ = take(max_rows, c.kv_heads * c.head_dim);
  v_ = take(max_rows, c.kv_heads * c.head_dim);
  mixed_ = take(max_rows, c.heads * c.head_dim);
  gate_ = take(max_rows, c.ffn);
  up_ = take(max_rows, c.ffn);
  cos_ = take(max_rows, c.rope.dims / 2);
  sin_ = take(max_rows, c.rope.dims / 2);
  logits_ = take(1, c.vocabulary);
}

bool Forward::run(std::span<const TokenId> ids, int first, std::span<const int32_t> pages,
                  kernels::KvPool& pool, std::stop_token stop) {
  const ModelConfig& c = model_.config;
  const int n = static_cast<int>(ids.size());
  const Matrix x = x_.slice(0, n), normed = normed_.slice(0, n), q = q_.slice(0, n),
               k = k_.slice(0, n), v = v_.slice(0, n), mixed = mixed_.slice(0, n),
               gate = gate_.slice(0, n), up = up_.slice(0, n), cos = cos_.slice(0, n),
               sin = sin_.slice(0, n);

  const size_t pairs = size_t(c.rope.dims / 2);
  angles_.resize(2 * pairs * size_t(n));
  const std::span<float> all_cos(angles_.data(), pairs * size_t(n));
  const std::span<float> all_sin(angles_.data() + pairs * size_t(n), pairs * size_t(n));
  for (size_t t = 0; t < size_t(n); ++t) {
    model_.rope.fill(first + int(t), all_cos.subspan(t * pairs, pairs),
                     all_sin.subspan(t * pairs, pairs));
  }
  stream_.upload(all_cos, cos);
  stream_.upload(all_sin, sin);

  stream_.embed(*model_.embedding, ids, x);
  for (int i = 0; i < c.layers; ++i) {
    if (stop.stop_requested()) return false;
    const Layer& l = model_.layers[size_t(i)];
    const auto bias = [](const std::optional<Matrix>& m) { return m ? &*m : nullptr; };

    stream_.rms_norm(x, l.attn_norm, c.norm_eps, normed);
    const Stream::Product qkv[] = {{l.q.get(), bias(l.q_bias), q},
                                   {l.k.get(), bias(l.k_bias), k},
                                   {l.v.get(), bias(l.v_bias), v}};
    stream_.matmul_many(normed, qkv);
    stream_.rope(q, cos, sin, c.head_dim, c.rope.dims, c.rope_neox);
    stream_.rope(k, cos, sin, c.head_dim, c.rope.dims, c.rope_neox);
    stream_.kv_store(pool, i, pages, first, k, v);
    stream_.attention(pool, i, pages, first, q, c.attention_scale, mixed);
    stream_.matmul(mixed, *l.o, bias(l.o_bias), /*accumulate=*/true, x);

    stream_.rms_norm(x, l.ffn_norm, c.norm_eps, normed);
    const Stream::Product gate_up[] = {{l.gate.get(), bias(l.gate_bias), gate},
                                       {l.up.get(), bias(l.up_bias), up}};
    stream_.matmul_many(normed, gate_up);
    stream_.silu_mul(gate, up, gate);
    stream_.matmul(gate, *l.down, bias(l.down_bias), /*accumulate=*/true, x);
  }
  return true;
}

std::vector<float> Forward::hidden(int row) {
  std::vector<float> out(size_t(model_.config.width));
  stream_.download(x_.row(row), out);
  stream_.synchronize();
  return out;
}

void Forward::set_hidden(std::span<const float> hidden) { stream_.upload(hidden, x_.row(0)); }

Matrix Forward::logits(int row) {
  const ModelConfig& c = model_.config;
  stream_.rms_norm(x_.row(row), model_.output_norm, c.norm_eps, normed_.row(0));
  stream_.matmul(normed_.row(0), model_.head(), nullptr, /*accumulate=*/false, logits_);
  return logits_;
}

}  // namespace foretoken::engine

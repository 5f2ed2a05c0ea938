#include "kernels/cpu/reference/reference.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "kernels/cpu/select.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/quant.h"

namespace foretoken::kernels {
namespace {

// Raw GGUF rows, one after another.
class ReferenceWeight : public Weight {
 public:
  ReferenceWeight(const WeightSource& source, const HostAllocator& allocate)
      : type_(source.type),
        in_(source.in),
        out_(source.out),
        row_bytes_(row_bytes(source.type, size_t(source.in))),
        rows_(allocate(row_bytes_ * size_t(source.out))) {
    source.read(0, {rows_.get(), row_bytes_ * size_t(out_)});
  }
  int in() const override { return in_; }
  int out() const override { return out_; }
  DType type() const override { return type_; }
  size_t bytes() const override { return row_bytes_ * size_t(out_); }

  void row(int r, std::span<float> out) const {
    dequantize(type_, {rows_.get() + size_t(r) * row_bytes_, row_bytes_}, out);
  }

 private:
  DType type_;
  int in_, out_;
  size_t row_bytes_;
  HostMemory rows_;
};

// Floats [page][layer][K, V][kv head][slot][head_dim].
class ReferenceKv : public KvPool {
 public:
  ReferenceKv(const KvShape& shape, const HostAllocator& allocate)
      : shape_(shape), memory_(allocate(bytes_per_page() * size_t(shape.pages))) {}
  static size_t page_bytes(const KvShape& s) {
    return sizeof(float) * 2 * size_t(s.layers) * size_t(s.kv_heads) * kPageTokens *
           size_t(s.head_dim);
  }
  size_t bytes_per_page() const override { return page_bytes(shape_); }
  const KvShape& shape() const { return shape_; }

  float* at(int page, int layer, bool value, int head, int slot) const {
    size_t i = size_t(page) * size_t(shape_.layers) + size_t(layer);
    i = (i * 2 + value) * size_t(shape_.kv_heads) + size_t(head);
    i = (i * kPageTokens + size_t(slot)) * size_t(shape_.head_dim);
    return reinterpret_cast<float*>(memory_.get()) + i;
  }

 private:
  KvShape shape_;
  HostMemory memory_;
};

const ReferenceWeight& weight(const Weight& w) {
  return static_cast<const ReferenceWeight&>(w);
}
ReferenceKv& kv(KvPool& pool) {
  return static_cast<ReferenceKv&>(pool);
}

// Four sums side by side: one alone waits for itself at every step.
double dot(const float* a, const float* b, int n) {
  double sum[4] = {};
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int j = 0; j < 4; ++j) sum[j] += double(a[i + j]) * b[i + j];
  }
  for (; i < n; ++i) sum[0] += double(a[i]) * b[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

class ReferenceStream : public Stream {
 public:
  explicit ReferenceStream(int threads) : pool_(threads) {}

  void upload(std::span<const float> from, Matrix to) override {
    for (int r = 0; r < to.rows; ++r) {
      std::copy_n(from.data() + size_t(r) * size_t(to.cols), to.cols, row_of(to, r));
    }
  }

  void download(Matrix from, std::span<float> to) override {
    for (int r = 0; r < from.rows; ++r) {
      std::copy_n(row_of(from, r), from.cols, to.data() + size_t(r) * size_t(from.cols));
    }
  }

  void synchronize() override {}

  void embed(const Weight& w, std::span<const int32_t> ids, Matrix out) override {
    for (size_t t = 0; t < ids.size(); ++t) {
      weight(w).row(ids[t], {row_of(out, int(t)), size_t(out.cols)});
    }
  }

  void rms_norm(Matrix x, Matrix gain, float eps, Matrix out) override {
    const float* g = row_of(gain, 0);
    for (int t = 0; t < x.rows; ++t) {
      const float* from = row_of(x, t);
      float* to = row_of(out, t);
      double sum = 0;
      for (int i = 0; i < x.cols; ++i) sum += double(from[i]) * from[i];
      const double scale = 1 / std::sqrt(sum / x.cols + eps);
      for (int i = 0; i < x.cols; ++i) to[i] = float(from[i] * scale * g[i]);
    }
  }

  void matmul(Matrix x, const Weight& w, const Matrix* bias, bool accumulate, Matrix out) override {
    assert(x.cols == w.in() && out.cols == w.out() && out.rows == x.rows);
    constexpr int kRows = 64;  // a piece of work for one thread; each output is one thread's alone
    pool_.parallel_for((w.out() + kRows - 1) / kRows, [&](int piece, int) {
      std::vector<float> row(size_t(w.in()));
      for (int o = piece * kRows; o < std::min(w.out(), (piece + 1) * kRows); ++o) {
        weight(w).row(o, row);
        for (int t = 0; t < x.rows; ++t) {
          const double sum =
              dot(row.data(), row_of(x, t), w.in()) + (bias ? double(row_of(*bias, 0)[o]) : 0);
          float& to = row_of(out, t)[o];
          to = float(accumulate ? sum + to : sum);
        }
      }
    });
  }

  void silu_mul(Matrix gate, Matrix up, Matrix out) override {
    for (int t = 0; t < gate.rows; ++t) {
      const float *g = row_of(gate, t), *u = row_of(up, t);
      float* to = row_of(out, t);
      for (int i = 0; i < gate.cols; ++i) {
        to[i] = float(double(g[i]) / (1 + std::exp(-double(g[i]))) * u[i]);
      }
    }
  }

  void rope(Matrix x, Matrix cos, Matrix sin, int head_dim, int n_rot, bool neox) override {
    const int half = n_rot / 2;
    for (int t = 0; t < x.rows; ++t) {
      const float *c = row_of(cos, t), *s = row_of(sin, t);
      for (int head = 0; head < x.cols; head += head_dim) {
        float* v = row_of(x, t) + head;
        for (int i = 0; i < half; ++i) {
          const int a = neox ? i : 2 * i, b = neox ? i + half : 2 * i + 1;
          const double va = v[a], vb = v[b];
          v[a] = float(va * c[i] - vb * s[i]);
          v[b] = float(va * s[i] + vb * c[i]);
        }
      }
    }
  }

  void kv_store(KvPool& pool, int layer, std::span<const int32_t> pages, int first, Matrix k,
                Matrix v) override {
    const int dim = kv(pool).shape().head_dim;
    for (int t = 0; t < k.rows; ++t) {
      const int page = pages[size_t((first + t) / kPageTokens)], slot = (first + t) % kPageTokens;
      for (int h = 0; h < kv(pool).shape().kv_heads; ++h) {
        std::copy_n(row_of(k, t) + h * dim, dim, kv(pool).at(page, layer, false, h, slot));
        std::copy_n(row_of(v, t) + h * dim, dim, kv(pool).at(page, layer, true, h, slot));
      }
    }
  }

  void attention(KvPool& pool, int layer, std::span<const int32_t> pages, int first, Matrix q,
                 float scale, Matrix out) override {
    const int dim = kv(pool).shape().head_dim, heads = q.cols / dim;
    const int group = heads / kv(pool).shape().kv_heads;
    for (int t = 0; t < q.rows; ++t) {
      for (int h = 0; h < heads; ++h) {
        const auto at = [&](int position, bool value) {
          return kv(pool).at(pages[size_t(position / kPageTokens)], layer, value, h / group,
                             position % kPageTokens);
        };
        const float* query = row_of(q, t) + h * dim;
        std::vector<double> p(size_t(first + t + 1)), sum(size_t(dim), 0.0);
        for (size_t j = 0; j < p.size(); ++j) {
          const float* key = at(int(j), false);
          for (int i = 0; i < dim; ++i) p[j] += double(query[i]) * key[i];
          p[j] *= scale;
        }
        const double max = *std::max_element(p.begin(), p.end());
        double total = 0;
        for (size_t j = 0; j < p.size(); ++j) {
          p[j] = std::exp(p[j] - max);
          total += p[j];
          const float* value = at(int(j), true);
          for (int i = 0; i < dim; ++i) sum[size_t(i)] += p[j] * value[i];
        }
        for (int i = 0; i < dim; ++i) row_of(out, t)[h * dim + i] = float(sum[size_t(i)] / total);
      }
    }
  }

  void kv_copy(KvPool& pool, int32_t from, int32_t to, int tokens) override {
    const KvShape& s = kv(pool).shape();
    for (int layer = 0; layer < s.layers; ++layer) {
      for (int value = 0; value < 2; ++value) {
        for (int h = 0; h < s.kv_heads; ++h) {
          std::copy_n(kv(pool).at(from, layer, value, h, 0), size_t(tokens) * size_t(s.head_dim),
                      kv(pool).at(to, layer, value, h, 0));
        }
      }
    }
  }

  void select(Matrix logits, std::span<const uint8_t> banned, std::span<const int32_t> only, int k,
              Selection* out) override {
    const std::span<const float> row(row_of(logits, 0), size_t(logits.cols));
    *out = Selection{};
    double max = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < row.size(); ++i) {
      if (is_banned(banned, int32_t(i))) continue;
      if (!std::isfinite(row[i])) out->finite = false;
      max = std::max(max, double(row[i]));
    }
    double sum = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      if (!is_banned(banned, int32_t(i))) sum += std::exp(row[i] - max);
    }
    out->logsumexp = float(max + std::log(sum));
    if (!out->finite) return;
    TopK best(k);
    if (only.empty()) {
      for (size_t i = 0; i < row.size(); ++i) {
        if (!is_banned(banned, int32_t(i))) best.offer(int32_t(i), row[i]);
      }
    } else {
      for (const int32_t id : only) {
        if (!is_banned(banned, id)) best.offer(id, row[size_t(id)]);
      }
    }
    best.finish(out);
  }

 private:
  ThreadPool pool_;
};

class ReferenceBackend : public Backend {
 public:
  ReferenceBackend(HostAllocator allocate, int threads)
      : allocate_(std::move(allocate)), threads_(threads) {}
  std::string_view name() const override { return "reference"; }
  int threads() const override {
    return threads_ > 0 ? threads_ : int(std::thread::hardware_concurrency());
  }
  std::unique_ptr<Buffer> allocate(size_t bytes) override {
    return std::make_unique<HostBuffer>(allocate_(bytes), bytes);
  }
  std::unique_ptr<Weight> load_weight(const WeightSource& source) override {
    return std::make_unique<ReferenceWeight>(source, allocate_);
  }
  std::unique_ptr<KvPool> make_kv(const KvShape& shape) override {
    return std::make_unique<ReferenceKv>(shape, allocate_);
  }
  size_t kv_bytes_per_page(const KvShape& shape) const override {
    return ReferenceKv::page_bytes(shape);
  }
  std::unique_ptr<Stream> make_stream() override {
    return std::make_unique<ReferenceStream>(threads_);
  }

 private:
  HostAllocator allocate_;
  int threads_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(HostAllocator allocate, int threads) {
  return std::make_unique<ReferenceBackend>(std::move(allocate), threads);
}

}  // namespace foretoken::kernels

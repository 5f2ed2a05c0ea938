#include "kernels/cpu/cpu_backend.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/cpu/half_kv.h"
#include "kernels/cpu/select.h"
#include "kernels/quant.h"

namespace foretoken::kernels {

size_t matmul_scratch(const CpuKernels& k, int in) {
  const size_t blocks = size_t(in) / kBlock;
  return size_t(k.panels) * blocks * (512 + 3 * 64);  // bytes, and up to three scales per row
}

size_t attention_scratch(int head_dim, int queries) {
  const size_t dim = size_t(head_dim + 15) / 16 * 16;
  return size_t(queries) * (64 + sizeof(float) * 2 * dim);  // a state, q and the sum
}

namespace {

const PanelWeight& panels_of(const Weight& w) {
  return static_cast<const PanelWeight&>(w);
}
HalfKv& kv(KvPool& pool) {
  return static_cast<HalfKv&>(pool);
}

// Work below this many floats is done by the caller: a region costs microseconds.
constexpr int kSmall = 16 * 1024;
// Rows of one piece of a matmul; bounds the time a piece takes.
constexpr int kPieceRows = 256;

class CpuStream : public Stream {
 public:
  CpuStream(const CpuKernels& kernels, ThreadPool& pool)
      : k_(kernels), pool_(pool), scratch_(size_t(pool.threads())) {}

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
    for_rows(int(ids.size()), out.cols,
             [&](int t) { panels_of(w).row(ids[size_t(t)], row_of(out, t)); });
  }

  void rms_norm(Matrix x, Matrix gain, float eps, Matrix out) override {
    for_rows(x.rows, x.cols, [&](int t) {
      k_.rms_norm(row_of(x, t), row_of(gain, 0), x.cols, eps, row_of(out, t));
    });
  }

  void matmul(Matrix x, const Weight& w, const Matrix* bias, bool accumulate, Matrix out) override {
    const Product product{&w, bias, out};
    multiply(x, {&product, 1}, accumulate);
  }

  void matmul_many(Matrix x, std::span<const Product> products) override {
    multiply(x, products, false);
  }

  void silu_mul(Matrix gate, Matrix up, Matrix out) override {
    for_rows(gate.rows, gate.cols, [&](int t) {
      k_.silu_mul(row_of(gate, t), row_of(up, t), gate.cols, row_of(out, t));
    });
  }

  void rope(Matrix x, Matrix cos, Matrix sin, int head_dim, int n_rot, bool neox) override {
    for_rows(x.rows, x.cols, [&](int t) {
      k_.rope(row_of(x, t), x.cols / head_dim, head_dim, n_rot, neox, row_of(cos, t),
              row_of(sin, t));
    });
  }

  void kv_store(KvPool& pool, int layer, std::span<const int32_t> pages, int first, Matrix k,
                Matrix v) override {
    const int dim = kv(pool).shape().head_dim, v_dim = kv(pool).v_dim();
    for_rows(k.rows, k.cols, [&](int t) {
      const int32_t page = pages[size_t((first + t) / kPageTokens)];
      const int slot = (first + t) % kPageTokens;
      for (int h = 0; h < kv(pool).shape().kv_heads; ++h) {
        uint16_t* to = kv(pool).at(page, layer, h);
        k_.store_k(row_of(k, t) + h * dim, dim, to, slot);
        k_.store_v(row_of(v, t) + h * dim, dim, v_dim, to, slot);
      }
    });
  }

  void attention(KvPool& pool, int layer, std::span<const int32_t> pages, int first, Matrix q,
                 float scale, Matrix out) override {
    const KvShape& shape = kv(pool).shape();
    const int group = q.cols / shape.head_dim / shape.kv_heads;
    const int used = (first + q.rows + kPageTokens - 1) / kPageTokens;
    pages_.resize(size_t(used) * size_t(shape.kv_heads));
    for (int h = 0; h < shape.kv_heads; ++h) {
      for (int p = 0; p < used; ++p) {
        pages_[size_t(h * used + p)] = kv(pool).at(pages[size_t(p)], layer, h);
      }
    }
    const int rows = std::clamp(q.rows * shape.kv_heads / (4 * pool_.threads()), 1, 8);
    const int lots = (q.rows + rows - 1) / rows;
    // Few rows: groups of heads are cut too, where whole ones would leave threads without work. The
    // kernel computes up to k_.queries heads together; smaller lots load keys and values again.
    int parts = rows > 1 ? 1 : (group + k_.queries - 1) / k_.queries;
    while (lots * parts * shape.kv_heads % pool_.threads() != 0 &&
           lots * parts * shape.kv_heads < 4 * pool_.threads() && parts < group) {
      ++parts;
    }
    const int heads = (group + parts - 1) / parts;
    parts = (group + heads - 1) / heads;
    reserve_scratch(attention_scratch(shape.head_dim, rows * heads));
    pool_.parallel_for(lots * parts * shape.kv_heads, [&](int i, int thread) {
      const int h = i % shape.kv_heads, part = i / shape.kv_heads % parts;
      // The last rows see the most positions: they go first.
      const int lot = lots - 1 - i / shape.kv_heads / parts;
      AttentionPiece piece;
      piece.pages = pages_.data() + size_t(h * used);
      piece.first = first;
      piece.head_dim = shape.head_dim;
      piece.v_dim = kv(pool).v_dim();
      piece.head = h * group + part * heads;
      piece.heads = std::min(heads, group - part * heads);
      piece.row = lot * rows;
      piece.rows = std::min(rows, q.rows - lot * rows);
      piece.q = row_of(q, 0);
      piece.q_stride = size_t(q.stride);
      piece.scale = scale;
      piece.out = row_of(out, 0);
      piece.out_stride = size_t(out.stride);
      k_.attention(piece, scratch_[size_t(thread)].get());
    });
  }

  void kv_copy(KvPool& pool, int32_t from, int32_t to, int tokens) override {
    const KvShape& s = kv(pool).shape();
    for (int layer = 0; layer < s.layers; ++layer) {
      for (int h = 0; h < s.kv_heads; ++h) {
        const uint16_t* source = kv(pool).at(from, layer, h);
        uint16_t* target = kv(pool).at(to, layer, h);
        for (int d = 0; d < s.head_dim; ++d) {
          std::copy_n(source + d * kPageTokens, tokens, target + d * kPageTokens);
        }
        const size_t values = size_t(s.head_dim) * kPageTokens;
        std::copy_n(source + values, size_t(tokens) * size_t(kv(pool).v_dim()), target + values);
      }
    }
  }

  void select(Matrix logits, std::span<const uint8_t> banned, std::span<const int32_t> only, int k,
              Selection* out) override {
    constexpr int kRun = 1024, kRuns = 8;  // logits per summary, summaries per piece
    const int n = logits.cols, runs = (n + kRun - 1) / kRun;
    const size_t mask_bytes = (size_t(n) + 7) / 8;
    banned_.assign(banned.begin(),
                   banned.begin() + std::ptrdiff_t(std::min(mask_bytes, banned.size())));
    if (!banned.empty()) banned_.resize(mask_bytes);
    masked_.resize(size_t(n));
    runs_.resize(size_t(runs));
    const float* row = row_of(logits, 0);
    pool_.parallel_for((runs + kRuns - 1) / kRuns, [&](int piece, int) {
      for (int r = piece * kRuns; r < std::min(runs, (piece + 1) * kRuns); ++r) {
        const int at = r * kRun;
        runs_[size_t(r)] = k_.select(row + at, banned.empty() ? nullptr : &banned_[size_t(at / 8)],
                                     std::min(kRun, n - at), &masked_[size_t(at)]);
      }
    });
    *out = Selection{};
    float max = -INFINITY;
    for (const SelectPiece& r : runs_) {
      out->finite = out->finite && r.finite;
      max = std::max(max, r.max);
    }
    double sum = 0;
    for (const SelectPiece& r : runs_) {
      if (r.sum > 0) sum += double(r.sum) * std::exp(double(r.max) - max);
    }
    out->logsumexp = float(double(max) + std::log(sum));
    if (!out->finite) return;
    TopK best(k);
    if (!only.empty()) {
      for (const int32_t id : only) {
        if (!is_banned(banned, id)) best.offer(id, row[id]);
      }
      return best.finish(out);
    }
    for (int r = 0; r < runs; ++r) {
      if (!(runs_[size_t(r)].max > best.threshold())) continue;
      for (int i = r * kRun; i < std::min(n, (r + 1) * kRun); ++i) {
        if (masked_[size_t(i)] > best.threshold()) best.offer(i, masked_[size_t(i)]);
      }
    }
    best.finish(out);
  }

 private:
  struct Piece {
    int product, panel, panels, row, rows;
  };

  // f(t) for every row, on all threads where there is enough to do.
  template <class F>
  void for_rows(int rows, int cols, F&& f) {
    const int lot = std::max(1, kSmall / 4 / std::max(1, cols));
    if (int64_t(rows) * cols <= kSmall) {
      for (int t = 0; t < rows; ++t) f(t);
      return;
    }
    pool_.parallel_for((rows + lot - 1) / lot, [&](int piece, int) {
      for (int t = piece * lot; t < std::min(rows, (piece + 1) * lot); ++t) f(t);
    });
  }

  void reserve_scratch(size_t bytes) {
    if (bytes <= scratch_bytes_) return;
    for (HostMemory& m : scratch_) m = allocate_host_memory(bytes);
    scratch_bytes_ = bytes;
  }

  void quantize(Matrix x) {
    const size_t blocks = size_t(x.cols) / kBlock, need = size_t(x.rows) * blocks;
    if (need > activation_blocks_) {
      // Per block 32 bytes, two floats, three sums.
      activation_memory_ = allocate_host_memory(need * (kBlock + 5 * 4));
      activation_blocks_ = need;
    }
    std::byte* at = activation_memory_.get();
    activations_.blocks = int(blocks);
    activations_.q = reinterpret_cast<int8_t*>(at);
    at += activation_blocks_ * kBlock;
    activations_.scale = reinterpret_cast<float*>(at);
    activations_.scaled_sum = activations_.scale + activation_blocks_;
    activations_.minus_sum =
        reinterpret_cast<int32_t*>(activations_.scaled_sum + activation_blocks_);
    activations_.minus_half_sum = activations_.minus_sum + activation_blocks_;
    for_rows(x.rows, x.cols, [&](int t) { k_.quantize(row_of(x, t), activations_, t); });
  }

  void multiply(Matrix x, std::span<const Product> products, bool accumulate) {
    bool blocks = false;
    size_t bytes = 0;
    for (const Product& p : products) {
      assert(panels_of(*p.w).packed() && p.w->in() == x.cols && p.out.cols == p.w->out());
      blocks |= panels_of(*p.w).layout().blocks > 0;
      bytes += p.w->bytes();
    }
    if (blocks) {
      quantize(x);
      reserve_scratch(matmul_scratch(k_, x.cols));
    }
    cut(x.rows, products, bytes);
    pool_.parallel_for(int(pieces_.size()), [&](int i, int thread) {
      const Piece& piece = pieces_[size_t(i)];
      const Product& p = products[size_t(piece.product)];
      const PanelWeight& w = panels_of(*p.w);
      const PanelView view{w.type(),          w.in(),     w.out(),
                           w.layout().blocks, w.panel(0), w.layout().panel_bytes};
      const Output out{row_of(p.out, 0), size_t(p.out.stride),
                       p.bias ? row_of(*p.bias, 0) : nullptr, accumulate};
      if (view.blocks > 0) {
        k_.matmul(view, piece.panel, piece.panels, activations_, piece.row, piece.rows, out,
                  scratch_[size_t(thread)].get());
      } else {
        k_.matmul_plain(view, piece.panel, piece.panels, row_of(x, 0), size_t(x.stride), piece.row,
                        piece.rows, out);
      }
    });
  }

  // Few rows: pieces of some ten kilobytes of weights. Many rows: as many panels as the kernel
  // unpacks together, times up to kPieceRows rows; rows outermost, so that their activations stay
  // in the cache.
  void cut(int rows, std::span<const Product> products, size_t bytes) {
    pieces_.clear();
    const size_t target =
        std::clamp<size_t>(bytes / size_t(8 * pool_.threads()), 16 << 10, 128 << 10);
    for (int row = 0; row < rows; row += kPieceRows) {
      const int count = std::min(kPieceRows, rows - row);
      for (int i = 0; i < int(products.size()); ++i) {
        const PanelWeight& w = panels_of(*products[size_t(i)].w);
        const int step = count <= k_.direct_rows || w.layout().blocks == 0
                             ? std::max(4, int(target / w.layout().panel_bytes) / 4 * 4)
                             : k_.panels;
        for (int p = 0; p < w.panels(); p += step) {
          pieces_.push_back({i, p, std::min(step, w.panels() - p), row, count});
        }
      }
    }
    assert(int64_t(pieces_.size()) <= ThreadPool::kMaxPieces);
  }

  const CpuKernels& k_;
  ThreadPool& pool_;
  std::vector<HostMemory> scratch_;  // one per thread
  size_t scratch_bytes_ = 0;
  HostMemory activation_memory_;
  size_t activation_blocks_ = 0;
  Activations activations_;
  std::vector<Piece> pieces_;
  std::vector<const uint16_t*> pages_;
  std::vector<uint8_t> banned_;
  std::vector<float> masked_;
  std::vector<SelectPiece> runs_;
};

// Thread-safe.
class CpuBackend : public Backend {
 public:
  CpuBackend(const CpuKernels& kernels, int threads) : k_(kernels), pool_(threads) {}
  std::string_view name() const override { return k_.name; }
  int threads() const override { return pool_.threads(); }
  std::unique_ptr<Buffer> allocate(size_t bytes) override {
    return std::make_unique<HostBuffer>(allocate_host_memory(bytes), bytes);
  }
  std::unique_ptr<Weight> load_weight(const WeightSource& source) override {
    return std::make_unique<PanelWeight>(source, arena_, pool_);
  }
  std::unique_ptr<KvPool> make_kv(const KvShape& shape) override {
    return std::make_unique<HalfKv>(shape);
  }
  size_t kv_bytes_per_page(const KvShape& shape) const override {
    return HalfKv::page_bytes(shape);
  }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CpuStream>(k_, pool_); }

 private:
  const CpuKernels& k_;
  ThreadPool pool_;
  HostArena arena_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const CpuKernels& kernels, int threads) {
  return std::make_unique<CpuBackend>(kernels, threads);
}

}  // namespace foretoken::kernels

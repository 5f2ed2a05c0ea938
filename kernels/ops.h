// The table of operations. A Stream is one backend's queue of work; the forward pass
// (engine/forward) is written over it once and never touches tensor memory.
//
// Rules that hold for every backend and every operation:
//  * Matrices are float32, see kernels/tensor.h. Output may alias an input only where said.
//  * Batch invariance: a row of the output has the same bits whatever other rows stand beside it in
//    the same call, and whatever number of threads computes it. Prefix reuse and batching are exact
//    because of it (CPU backends; a GPU backend documents its own rounding).
//  * Calls enqueue; results are visible to the host only after synchronize(). Host spans passed in
//    are copied before the call returns. Span arguments that receive results must live until then.
//  * Shapes are checked by the caller (the engine checks the model file); operations assert them.
//
// Fused operations stand beside single ones and have defaults made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tensor.h"

namespace foretoken::kernels {

/// A weight matrix in the backend's own layout, made by Backend::load_weight. y = W x has
/// `out` = rows of W, `in` = columns. Immutable, thread-safe.
class Weight {
 public:
  virtual ~Weight() = default;
  virtual int in() const = 0;
  virtual int out() const = 0;
  virtual DType type() const = 0;
  virtual size_t bytes() const = 0;  // resident bytes in the backend's layout
};

/// Where a weight comes from. `read(first_row, rows)` fills `rows` with the raw bytes of
/// consecutive rows (GGUF order, row_bytes(type, in) each). It may throw; load_weight passes that on.
struct WeightSource {
  DType type;
  int in;
  int out;
  enum class Use : uint8_t { matmul, lookup, both } use;  // lookup: embed() only
  std::function<void(int first_row, std::span<std::byte> rows)> read;
};

/// Keys and values of all layers, in pages of `kPageTokens` tokens on absolute positions: the token
/// at position p lives in slot p % kPageTokens of the page a sequence's table names at p / kPageTokens.
inline constexpr int kPageTokens = 64;
struct KvShape {
  int layers;
  int kv_heads;
  int head_dim;  // of K and of V
  int pages;
};
class KvPool {
 public:
  virtual ~KvPool() = default;
  virtual size_t bytes_per_page() const = 0;
};

/// What select() reports of one row of logits.
struct Selection {
  std::vector<int32_t> ids;    // best first, at most k; ties go to the lower id
  std::vector<float> logits;   // their logits
  float logsumexp = 0;         // over all unbanned ids of the row (not only `only`)
  bool finite = true;          // false: some unbanned logit was NaN or infinite; ids may be empty
};

/// Backend's queue. One engine thread uses a stream at a time.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual void upload(std::span<const float> from, Matrix to) = 0;  // to.rows * to.cols floats
  virtual void download(Matrix from, std::span<float> to) = 0;
  virtual void synchronize() = 0;

  /// out[t] = W[ids[t]] as floats. W was loaded with Use::lookup or Use::both; ids are in range.
  virtual void embed(const Weight& w, std::span<const int32_t> ids, Matrix out) = 0;

  /// out[t] = x[t] / sqrt(mean(x[t]^2) + eps) * gain. `gain` is 1 x cols. out may be x.
  virtual void rms_norm(Matrix x, Matrix gain, float eps, Matrix out) = 0;

  /// out[t] = W x[t] (+ bias, 1 x out) (+ out[t] where accumulate). Quantised weights meet
  /// activations quantised to 8 bits in blocks of 32 (scale = max|x| / 127, q = round half to even);
  /// `reference` and weights without blocks use the floats as they are.
  virtual void matmul(Matrix x, const Weight& w, const Matrix* bias, bool accumulate, Matrix out) = 0;

  /// Several products of one x: the activations are quantised once, the work is one parallel region.
  struct Product {
    const Weight* w;
    const Matrix* bias;  // or null
    Matrix out;
  };
  virtual void matmul_many(Matrix x, std::span<const Product> products);

  /// out[t] = silu(gate[t]) * up[t]; silu(v) = v / (1 + exp(-v)). out may be gate or up.
  virtual void silu_mul(Matrix gate, Matrix up, Matrix out) = 0;

  /// Rotates the first n_rot elements of every head of x[t] (cols = heads * head_dim) by row t of
  /// cos and sin (rows x n_rot/2, uploaded by the caller, magnitude included).
  /// neox: pairs (i, i + n_rot/2); else pairs (2i, 2i+1).
  virtual void rope(Matrix x, Matrix cos, Matrix sin, int head_dim, int n_rot, bool neox) = 0;

  /// Stores row t of k and v (cols = kv_heads * head_dim, k rotated) at position first + t.
  virtual void kv_store(KvPool& pool, int layer, std::span<const int32_t> pages, int first, Matrix k,
                        Matrix v) = 0;

  /// Causal attention with grouped queries: out[t] per head h = softmax(scale * q K^T) V over the
  /// positions 0 .. first + t of the sequence; query head h reads KV head h / (heads / kv_heads).
  /// Sums run page by page in position order.
  virtual void attention(KvPool& pool, int layer, std::span<const int32_t> pages, int first,
                         Matrix q, float scale, Matrix out) = 0;

  /// Copies the first `tokens` slots of a page, all layers.
  virtual void kv_copy(KvPool& pool, int32_t from, int32_t to, int tokens) = 0;

  /// Best k of one row of logits (1 x vocabulary). Ids whose bit in `banned` (bit i%8 of byte i/8,
  /// may be empty) is set count as minus infinity; where `only` is not empty, only its ids compete.
  virtual void select(Matrix logits, std::span<const uint8_t> banned, std::span<const int32_t> only,
                      int k, Selection* out) = 0;
};

/// One way to compute, chosen by name at run time. Thread-safe after construction.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // "reference", "avx2", "avx512", "amx"
  virtual int threads() const = 0;

  virtual std::unique_ptr<Buffer> allocate(size_t bytes) = 0;  // zeroed; throws std::bad_alloc
  virtual std::unique_ptr<Weight> load_weight(const WeightSource& source) = 0;
  virtual std::unique_ptr<KvPool> make_kv(const KvShape& shape) = 0;
  /// What make_kv would take per page, before any memory is taken.
  virtual size_t kv_bytes_per_page(const KvShape& shape) const = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
};

}  // namespace foretoken::kernels

#include "engine/model.h"

#include <functional>

#include "engine/gguf.h"
#include "kernels/quant.h"

namespace foretoken::engine {
namespace {

using kernels::DType;
using kernels::Matrix;
using kernels::Weight;
using kernels::WeightSource;

std::string shape_text(uint64_t in, uint64_t out) {
  return out == 1 ? "[" + std::to_string(in) + "]"
                  : "[" + std::to_string(in) + ", " + std::to_string(out) + "]";
}

/// Finds tensors and checks their shapes; the same checks serve loading and `model check`.
class Tensors {
 public:
  explicit Tensors(const GgufFile& file) : file_(file) {}

  const GgufTensor& matrix(const std::string& name, int in, int out) const {
    const GgufTensor* t = file_.tensor(name);
    if (!t) file_.fail("missing tensor " + name);
    expect(*t, uint64_t(in), uint64_t(out));
    return *t;
  }
  /// A vector of `n` floats, or null where it may be absent and is.
  const GgufTensor* vector(const std::string& name, int n, bool required) const {
    const GgufTensor* t = file_.tensor(name);
    if (!t) {
      if (required) file_.fail("missing tensor " + name);
      return nullptr;
    }
    expect(*t, uint64_t(n), 1);
    return t;
  }

 private:
  void expect(const GgufTensor& t, uint64_t in, uint64_t out) const {
    if (t.dim(0) != in || t.dim(1) != out || t.dim(2) != 1 || t.dim(3) != 1) {
      file_.fail("tensor " + printable(t.name) + " has shape " + shape_text(t.dim(0), t.dim(1)) +
                 ", the metadata asks for " + shape_text(in, out));
    }
  }
  const GgufFile& file_;
};

/// Calls `use(tensor)` for every vector in the order in which they lie in the vector buffer.
struct VectorSlot {
  const GgufTensor* tensor;
  std::function<void(Matrix)> place;
};

std::string blk(int layer, const char* rest) {
  return "blk." + std::to_string(layer) + "." + rest;
}

}  // namespace

Model::Model(const GgufFile& file, kernels::Backend& backend)
    : config(read_config(file)), rope({}) {
  check_tensors(file, config);
  const Tensors tensors(file);

  // Norms and biases: one buffer for all of them.
  std::vector<VectorSlot> slots;
  const auto vector = [&](const std::string& name, int n, auto place) {
    if (const GgufTensor* t = tensors.vector(name, n, false)) slots.push_back({t, place});
  };
  const int d = config.width, h = config.heads * config.head_dim,
            g = config.kv_heads * config.head_dim, f = config.ffn;
  layers.resize(size_t(config.layers));
  vector("output_norm.weight", d, [this](Matrix m) { output_norm = m; });
  for (int i = 0; i < config.layers; ++i) {
    Layer& l = layers[size_t(i)];
    vector(blk(i, "attn_norm.weight"), d, [&l](Matrix m) { l.attn_norm = m; });
    vector(blk(i, "ffn_norm.weight"), d, [&l](Matrix m) { l.ffn_norm = m; });
    vector(blk(i, "attn_q.bias"), h, [&l](Matrix m) { l.q_bias = m; });
    vector(blk(i, "attn_k.bias"), g, [&l](Matrix m) { l.k_bias = m; });
    vector(blk(i, "attn_v.bias"), g, [&l](Matrix m) { l.v_bias = m; });
    vector(blk(i, "attn_qkv.bias"), h + 2 * g, [&l, h, g](Matrix m) {
      l.q_bias = m.columns(0, h);
      l.k_bias = m.columns(h, g);
      l.v_bias = m.columns(h + g, g);
    });
    vector(blk(i, "attn_output.bias"), d, [&l](Matrix m) { l.o_bias = m; });
    vector(blk(i, "ffn_gate.bias"), f, [&l](Matrix m) { l.gate_bias = m; });
    vector(blk(i, "ffn_up.bias"), f, [&l](Matrix m) { l.up_bias = m; });
    vector(blk(i, "ffn_down.bias"), d, [&l](Matrix m) { l.down_bias = m; });
  }
  constexpr size_t kAlign = 16;  // floats: every vector begins on a cache line
  size_t floats = 0;
  for (const VectorSlot& s : slots) floats += (s.tensor->dim(0) + kAlign - 1) / kAlign * kAlign;
  vectors_ = backend.allocate(floats * sizeof(float));
  const std::unique_ptr<kernels::Stream> stream = backend.make_stream();
  size_t at = 0;
  for (const VectorSlot& s : slots) {
    const int n = static_cast<int>(s.tensor->dim(0));
    std::vector<std::byte> raw(s.tensor->bytes);
    file.read(*s.tensor, 0, raw);
    std::vector<float> values(static_cast<size_t>(n));
    kernels::dequantize(s.tensor->type, raw, values);
    const Matrix place{vectors_.get(), at, 1, n, n};
    stream->upload(values, place);
    s.place(place);
    at += (size_t(n) + kAlign - 1) / kAlign * kAlign;
  }
  stream->synchronize();

  // Matrices, in file order of use. A fused tensor is read as row ranges.
  const auto rows_of = [&](const GgufTensor& t, int first, int in, int out, WeightSource::Use use) {
    const size_t row = kernels::row_bytes(t.type, size_t(in));
    return backend.load_weight(
        {t.type, in, out, use, [&file, &t, first, row](int r, std::span<std::byte> rows) {
           file.read(t, uint64_t(first + r) * row, rows);
         }});
  };
  const auto matrix = [&](const std::string& name, int in, int out) {
    return rows_of(*file.tensor(name), 0, in, out, WeightSource::Use::matmul);
  };
  embedding = rows_of(*file.tensor("token_embd.weight"), 0, d, config.vocabulary,
                      config.tied ? WeightSource::Use::both : WeightSource::Use::lookup);
  if (!config.tied) output = matrix("output.weight", d, config.vocabulary);
  for (int i = 0; i < config.layers; ++i) {
    Layer& l = layers[size_t(i)];
    if (const GgufTensor* qkv = file.tensor(blk(i, "attn_qkv.weight"))) {
      l.q = rows_of(*qkv, 0, d, h, WeightSource::Use::matmul);
      l.k = rows_of(*qkv, h, d, g, WeightSource::Use::matmul);
      l.v = rows_of(*qkv, h + g, d, g, WeightSource::Use::matmul);
    } else {
      l.q = matrix(blk(i, "attn_q.weight"), d, h);
      l.k = matrix(blk(i, "attn_k.weight"), d, g);
      l.v = matrix(blk(i, "attn_v.weight"), d, g);
    }
    l.o = matrix(blk(i, "attn_output.weight"), h, d);
    l.gate = matrix(blk(i, "ffn_gate.weight"), d, f);
    l.up = matrix(blk(i, "ffn_up.weight"), d, f);
    l.down = matrix(blk(i, "ffn_down.weight"), f, d);
  }

  if (const GgufTensor* factors = file.tensor("rope_freqs.weight")) {
    std::vector<std::byte> raw(factors->bytes);
    file.read(*factors, 0, raw);
    config.rope.divisors.resize(factors->dim(0));
    kernels::dequantize(factors->type, raw, config.rope.divisors);
    for (float v : config.rope.divisors) {
      if (!(v > 0) || v > 1e9f) file.fail("rope_freqs.weight holds a divisor that is not positive");
    }
  }
  rope = Rope(config.rope);
}

void check_tensors(const GgufFile& file, const ModelConfig& c) {
  const Tensors tensors(file);
  const int d = c.width, h = c.heads * c.head_dim, g = c.kv_heads * c.head_dim, f = c.ffn;
  tensors.matrix("token_embd.weight", d, c.vocabulary);
  if (!c.tied) tensors.matrix("output.weight", d, c.vocabulary);
  tensors.vector("output_norm.weight", d, true);
  tensors.vector("rope_freqs.weight", c.rope.dims / 2, false);
  if (file.tensor("output.bias")) file.fail("tensor output.bias is not supported");
  if (file.tensor(blk(c.layers, "attn_norm.weight"))) {
    file.fail(c.architecture + ".block_count is " + std::to_string(c.layers) + ", but there is a tensor " +
              blk(c.layers, "attn_norm.weight"));
  }
  for (int i = 0; i < c.layers; ++i) {
    tensors.vector(blk(i, "attn_norm.weight"), d, true);
    tensors.vector(blk(i, "ffn_norm.weight"), d, true);
    if (file.tensor(blk(i, "attn_qkv.weight"))) {
      tensors.matrix(blk(i, "attn_qkv.weight"), d, h + 2 * g);
    } else {
      tensors.matrix(blk(i, "attn_q.weight"), d, h);
      tensors.matrix(blk(i, "attn_k.weight"), d, g);
      tensors.matrix(blk(i, "attn_v.weight"), d, g);
    }
    tensors.matrix(blk(i, "attn_output.weight"), h, d);
    tensors.matrix(blk(i, "ffn_gate.weight"), d, f);
    tensors.matrix(blk(i, "ffn_up.weight"), d, f);
    tensors.matrix(blk(i, "ffn_down.weight"), f, d);
    tensors.vector(blk(i, "attn_q.bias"), h, false);
    tensors.vector(blk(i, "attn_k.bias"), g, false);
    tensors.vector(blk(i, "attn_v.bias"), g, false);
    tensors.vector(blk(i, "attn_qkv.bias"), h + 2 * g, false);
    tensors.vector(blk(i, "attn_output.bias"), d, false);
    tensors.vector(blk(i, "ffn_gate.bias"), f, false);
    tensors.vector(blk(i, "ffn_up.bias"), f, false);
    tensors.vector(blk(i, "ffn_down.bias"), d, false);
  }
}

namespace {

template <typename Measure>
size_t sum_of_matrices(const std::vector<Layer>& layers, Measure measure) {
  size_t sum = 0;
  for (const Layer& l : layers) {
    for (const Weight* w : {l.q.get(), l.k.get(), l.v.get(), l.o.get(), l.gate.get(), l.up.get(),
                            l.down.get()}) {
      sum += measure(*w);
    }
  }
  return sum;
}

}  // namespace

size_t Model::bytes_per_token() const {
  return head().bytes() + sum_of_matrices(layers, [](const Weight& w) { return w.bytes(); });
}

size_t Model::macs_per_token() const {
  return sum_of_matrices(layers, [](const Weight& w) { return size_t(w.in()) * size_t(w.out()); });
}

size_t Model::weight_bytes() const {
  return bytes_per_token() + (output ? embedding->bytes() : 0) + vectors_->bytes();
}

}  // namespace foretoken::engine

// A model on one page: its shape, and every tensor with its dimensions.
// Architectures: llama (and what calls itself llama: DeepSeek-Coder, SmolLM2, Mistral, …) and qwen2.
// Source: llama.cpp src/llama-model.cpp, src/models/{llama,qwen2}.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/rope.h"
#include "kernels/ops.h"

namespace foretoken::engine {

class GgufFile;

/// Shape of a model, from {architecture}.* metadata. Immutable value.
struct ModelConfig {
  std::string architecture;  // "llama", "qwen2"
  std::string name;          // general.name, else the file's name; untrusted text
  int layers = 0;            // block_count
  int width = 0;             // embedding_length
  int heads = 0;             // attention.head_count
  int kv_heads = 0;          // attention.head_count_kv
  int head_dim = 0;          // attention.key_length, else width / heads
  int ffn = 0;               // feed_forward_length
  int vocabulary = 0;        // rows of token_embd
  int context = 0;           // context_length: trained positions
  float norm_eps = 0;        // attention.layer_norm_rms_epsilon
  float attention_scale = 0; // attention.scale, else 1 / sqrt(head_dim)
  RopeConfig rope;
  bool rope_neox = false;    // qwen2: pairs (i, i + n/2); llama: (2i, 2i+1), rows permuted in the file
  bool tied = false;         // no output.weight: token_embd serves as LM head
};

/// Reads and checks the metadata; loads nothing. Throws ModelError naming the key.
ModelConfig read_config(const GgufFile& file);

/// One transformer block. d = width, h = heads * head_dim, g = kv_heads * head_dim, f = ffn.
struct Layer {
  kernels::Matrix attn_norm;                              // 1 x d
  std::unique_ptr<kernels::Weight> q, k, v;               // h x d, g x d, g x d
  std::optional<kernels::Matrix> q_bias, k_bias, v_bias;  // 1 x h, 1 x g, 1 x g
  std::unique_ptr<kernels::Weight> o;                     // d x h
  std::optional<kernels::Matrix> o_bias;                  // 1 x d
  kernels::Matrix ffn_norm;                               // 1 x d
  std::unique_ptr<kernels::Weight> gate, up;              // f x d
  std::unique_ptr<kernels::Weight> down;                  // d x f
  std::optional<kernels::Matrix> gate_bias, up_bias, down_bias;
};

/// Config and weights, resident in a backend's memory; the file is not needed afterwards.
/// Immutable, thread-safe.
class Model {
 public:
  /// Throws ModelError (file, tensor, what is wrong) or std::bad_alloc. `backend` must outlive this.
  Model(const GgufFile& file, kernels::Backend& backend);

  ModelConfig config;
  std::unique_ptr<kernels::Weight> embedding;  // vocabulary x d
  std::vector<Layer> layers;
  kernels::Matrix output_norm;                 // 1 x d
  std::unique_ptr<kernels::Weight> output;     // vocabulary x d; null where tied
  Rope rope;

  const kernels::Weight& head() const { return output ? *output : *embedding; }
  size_t weight_bytes() const;                 // resident
  /// Bytes of weights that one decoded token reads.
  size_t bytes_per_token() const;
  /// Multiply-adds of the matrices for one prefilled token (without the LM head).
  size_t macs_per_token() const;

 private:
  std::unique_ptr<kernels::Buffer> vectors_;   // all norms and biases
};

/// Checks every tensor the model needs against `config` without reading data (model check).
void check_tensors(const GgufFile& file, const ModelConfig& config);

}  // namespace foretoken::engine

// One pass of tokens through the model. The only file that knows the order of operations.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/model.h"
#include "engine/tokenizer.h"
#include "kernels/ops.h"

namespace foretoken::engine {

/// Engine thread. Owns the activations; keys and values go to the pages the caller names.
class Forward {
 public:
  /// `model`, `backend` and `stream` must outlive this. max_rows: tokens per pass.
  Forward(const Model& model, kernels::Backend& backend, kernels::Stream& stream, int max_rows);

  /// Computes ids (at most max_rows) at positions first.. of the sequence whose pages are named,
  /// and stores their keys and values. False: stop was asked between two layers, and the keys and
  /// values of these positions are worthless.
  bool run(std::span<const TokenId> ids, int first, std::span<const int32_t> pages,
           kernels::KvPool& pool, std::stop_token stop);

  /// Logits (1 x vocabulary) after row `row` of the last run. Valid until the next call.
  kernels::Matrix logits(int row);

  /// The residual stream (width floats) after row `row` of the last run; set_hidden() makes it row 0's
  /// again, for logits(0).
  std::vector<float> hidden(int row);
  void set_hidden(std::span<const float> hidden);

  int max_rows() const { return max_rows_; }
  /// Bytes of activations that a Forward takes.
  static size_t activation_bytes(const ModelConfig& config, int max_rows);

 private:
  kernels::Matrix take(int rows, int cols);

  const Model& model_;
  kernels::Stream& stream_;
  int max_rows_;
  std::unique_ptr<kernels::Buffer> memory_;
  size_t used_ = 0;  // floats of memory_ handed out
  // R = max_rows, d = width, h = heads * head_dim, g = kv_heads * head_dim, f = ffn
  kernels::Matrix x_;              // R x d, the residual stream
  kernels::Matrix normed_;         // R x d
  kernels::Matrix q_, k_, v_;      // R x h, R x g, R x g
  kernels::Matrix mixed_;          // R x h, attention's output
  kernels::Matrix gate_, up_;      // R x f
  kernels::Matrix cos_, sin_;      // R x dims/2
  kernels::Matrix logits_;         // 1 x vocabulary
  std::vector<float> angles_;      // host side of cos_, sin_
};

}  // namespace foretoken::engine

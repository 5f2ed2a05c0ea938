// Rotary position embedding: which angle each pair of a head turns by at a position.
// Sources: RoFormer (arXiv 2104.09864); YaRN (arXiv 2309.00071) as llama.cpp ggml-cpu/ops.cpp has it;
// Llama 3 frequency factors (rope_freqs.weight).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace foretoken::engine {

struct RopeConfig {
  enum class Scaling : uint8_t { none, linear, yarn };
  int dims = 0;              // rotated elements of a head, even
  double base = 10000;
  Scaling scaling = Scaling::none;
  double factor = 1;         // context stretch of linear and yarn
  int original_context = 0;  // yarn
  double attention_factor = 1;
  std::vector<float> divisors;  // rope_freqs.weight, dims / 2; empty: all 1
};

/// Frequencies in double, made once per model. Immutable, thread-safe.
class Rope {
 public:
  explicit Rope(const RopeConfig& config);
  int pairs() const { return static_cast<int>(frequency_.size()); }
  /// cos and sin (pairs() each) of position p, magnitude included. Angle error < 1e-9 at 131,072.
  void fill(int position, std::span<float> cos, std::span<float> sin) const;

 private:
  std::vector<double> frequency_;  // radians per position
  double magnitude_ = 1;
};

}  // namespace foretoken::engine

#include "engine/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace foretoken::engine {

Rope::Rope(const RopeConfig& config) {
  const int pairs = config.dims / 2;
  frequency_.resize(size_t(pairs));
  const double stretch = config.scaling == RopeConfig::Scaling::none ? 1.0 : 1.0 / config.factor;

  // YaRN turns fast pairs as trained, slow pairs stretched, and blends in between.
  double low = 0, high = 0;
  const bool yarn = config.scaling == RopeConfig::Scaling::yarn;
  if (yarn) {
    constexpr double kBetaFast = 32, kBetaSlow = 1;
    const auto correction = [&](double beta) {
      return config.dims * std::log(config.original_context / (beta * 2 * std::numbers::pi)) /
             (2 * std::log(config.base));
    };
    low = std::max(0.0, std::floor(correction(kBetaFast)));
    high = std::min(double(config.dims - 1), std::ceil(correction(kBetaSlow)));
    magnitude_ = config.attention_factor * (1 + 0.1 * std::log(config.factor));
  }
  for (int i = 0; i < pairs; ++i) {
    double trained = std::pow(config.base, -2.0 * i / config.dims);
    if (!config.divisors.empty()) trained /= config.divisors[size_t(i)];
    double f = trained * stretch;
    if (yarn) {
      const double ramp = 1 - std::clamp((i - low) / std::max(0.001, high - low), 0.0, 1.0);
      f = f * (1 - ramp) + trained * ramp;
    }
    frequency_[size_t(i)] = f;
  }
}

void Rope::fill(int position, std::span<float> cos, std::span<float> sin) const {
  for (size_t i = 0; i < frequency_.size(); ++i) {
    const double angle = position * frequency_[i];
    cos[i] = static_cast<float>(std::cos(angle) * magnitude_);
    sin[i] = static_cast<float>(std::sin(angle) * magnitude_);
  }
}

}  // namespace foretoken::engine

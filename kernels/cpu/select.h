// The best k of many logits: larger first, ties to the lower id. Shared by the CPU backends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/ops.h"

namespace foretoken::kernels {

inline bool is_banned(std::span<const uint8_t> banned, int32_t id) {
  const size_t byte = size_t(id) / 8;
  return byte < banned.size() && (banned[byte] >> (id % 8) & 1);
}

/// Keeps the best `k` candidates offered, sorted. k is small (tens), offers that win are rare.
class TopK {
 public:
  explicit TopK(int k) : k_(size_t(k < 0 ? 0 : k)) {}

  /// Nothing at or below this can enter, provided that ids are offered in rising order.
  float threshold() const { return best_.size() < k_ ? -__builtin_inff() : best_.back().logit; }

  void offer(int32_t id, float logit) {
    const Candidate c{id, logit};
    if (best_.size() == k_ && (k_ == 0 || !before(c, best_.back()))) return;
    auto at = best_.end();
    while (at != best_.begin() && before(c, at[-1])) --at;
    if (at != best_.begin() && at[-1].id == id) return;  // offered twice
    best_.insert(at, c);
    if (best_.size() > k_) best_.pop_back();
  }

  void merge(const TopK& other) {
    for (const Candidate& c : other.best_) offer(c.id, c.logit);
  }

  void finish(Selection* out) const {
    out->ids.clear();
    out->logits.clear();
    for (const Candidate& c : best_) {
      out->ids.push_back(c.id);
      out->logits.push_back(c.logit);
    }
  }

 private:
  struct Candidate {
    int32_t id;
    float logit;
  };
  static bool before(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  }
  size_t k_;
  std::vector<Candidate> best_;
};

}  // namespace foretoken::kernels

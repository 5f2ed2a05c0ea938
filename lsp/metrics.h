// What answers cost, counted: by source, by reason of silence, by the stage a request was cancelled
// at, and as histograms. `foretoken status` and --metrics-json show them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/completion.h"

namespace foretoken::lsp {

/// The cost of one answer.
struct AnswerCost {
  engine::Source source = engine::Source::engine;
  engine::Finish finish = engine::Finish::stop;
  engine::Stage cancelled_at = engine::Stage::none;
  engine::Priority priority = engine::Priority::typing;
  std::string reason;  // of silence; "" where something was suggested
  engine::Timings timings;
};

/// Counts of values between borders that grow by the same factor: 8 to every doubling, so that a
/// percentile read off is within 9 % of the true one. A value; not thread-safe, Metrics guards its own.
class Histogram {
 public:
  /// Borders from `first` on; smaller values fall below the first border.
  explicit Histogram(double first = 0.01) : first_(first) {}
  void add(double value);
  uint64_t count() const { return count_; }
  /// The value that a share `p` (0 to 1) of all values does not exceed; 0 where there is none.
  double percentile(double p) const;
  nlohmann::ordered_json json() const;  // {count, sum, p50, p95, p99, buckets: [[upper border, count]…]}

 private:
  static constexpr size_t kBuckets = 256;
  double border(size_t bucket) const;
  double first_, sum_ = 0;
  uint64_t count_ = 0;
  std::array<uint64_t, kBuckets> counts_{};
};

/// Thread-safe.
class Metrics {
 public:
  Metrics();
  void add(const AnswerCost& cost);
  nlohmann::ordered_json json() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> sources_, finishes_, cancelled_at_, priorities_, reasons_;
  uint64_t reused_ = 0, computed_ = 0;  // prompt tokens
  uint64_t guesses_ = 0, guesses_given_up_ = 0;  // of what comes next, in idle time
  std::vector<std::pair<std::string, Histogram>> histograms_;
};

}  // namespace foretoken::lsp

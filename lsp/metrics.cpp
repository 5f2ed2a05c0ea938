#include "lsp/metrics.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace foretoken::lsp {

using nlohmann::ordered_json;

namespace {

constexpr double kPerDoubling = 8;
/// Reasons come from our own rules; a bound all the same.
constexpr size_t kMostReasons = 64;

ordered_json counts_json(const std::map<std::string, uint64_t>& counts) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, count] : counts) json[name] = count;
  return json;
}

}  // namespace

double Histogram::border(size_t bucket) const {
  return first_ * std::exp2(double(bucket) / kPerDoubling);
}

void Histogram::add(double value) {
  if (!(value >= 0)) value = 0;
  const double at = value <= first_ ? 0 : std::ceil(std::log2(value / first_) * kPerDoubling);
  ++counts_[std::min(kBuckets - 1, static_cast<size_t>(std::min(at, double(kBuckets))))];
  ++count_;
  sum_ += value;
}

double Histogram::percentile(double p) const {
  const auto rank = static_cast<uint64_t>(std::ceil(p * double(count_)));
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (counts_[i] > 0 && seen >= rank) return border(i);
  }
  return 0;
}

ordered_json Histogram::json() const {
  ordered_json buckets = ordered_json::array();
  for (size_t i = 0; i < kBuckets; ++i) {
    if (counts_[i] > 0) buckets.push_back({border(i), counts_[i]});
  }
  return {{"count", count_},          {"sum", sum_},
          {"p50", percentile(0.5)},   {"p95", percentile(0.95)},
          {"p99", percentile(0.99)},  {"buckets", std::move(buckets)}};
}

Metrics::Metrics() {
  for (const char* name : {"queue_ms", "prefill_ms", "decode_ms", "post_ms", "ttft_ms", "total_ms"}) {
    histograms_.emplace_back(name, Histogram(0.01));
  }
  for (const char* name : {"reused_tokens", "new_tokens", "output_tokens"}) {
    histograms_.emplace_back(name, Histogram(1));
  }
}

void Metrics::add(const AnswerCost& cost) {
  const std::lock_guard lock(mutex_);
  if (cost.priority == engine::Priority::idle) {  // nobody was answered
    ++(cost.finish == engine::Finish::cancelled ? guesses_given_up_ : guesses_);
    return;
  }
  ++priorities_[engine::name(cost.priority)];
  ++finishes_[engine::name(cost.finish)];
  if (cost.cancelled_at != engine::Stage::none) ++cancelled_at_[engine::name(cost.cancelled_at)];
  if (cost.finish == engine::Finish::cancelled) return;  // the rest is about answers
  ++sources_[engine::name(cost.source)];
  if (!cost.reason.empty() && (reasons_.size() < kMostReasons || reasons_.contains(cost.reason))) {
    ++reasons_[cost.reason];
  }
  const engine::Timings& t = cost.timings;
  reused_ += uint64_t(std::max(t.reused_tokens, 0));
  computed_ += uint64_t(std::max(t.new_tokens, 0));
  const bool computed = cost.source == engine::Source::engine;
  const double values[] = {t.queue_ms, t.prefill_ms, t.decode_ms, t.post_ms, t.ttft_ms, t.total_ms,
                           double(t.reused_tokens), double(t.new_tokens), double(t.output_tokens)};
  for (size_t i = 0; i < histograms_.size(); ++i) {
    const std::string& name = histograms_[i].first;
    // What the engine did is told of its own answers; the rest of all.
    if (computed || name == "post_ms" || name == "total_ms") histograms_[i].second.add(values[i]);
  }
}

ordered_json Metrics::json() const {
  const std::lock_guard lock(mutex_);
  ordered_json histograms = ordered_json::object();
  for (const auto& [name, histogram] : histograms_) histograms[name] = histogram.json();
  return {{"answers", counts_json(sources_)},
          {"finish", counts_json(finishes_)},
          {"cancelled_at", counts_json(cancelled_at_)},
          {"asked_by", counts_json(priorities_)},
          {"guessed_ahead", {{"computed", guesses_}, {"given_up", guesses_given_up_}}},
          {"silent_because", counts_json(reasons_)},
          {"prompt_tokens", {{"reused", reused_}, {"new", computed_}}},
          {"histograms", std::move(histograms)}};
}

}  // namespace foretoken::lsp

#include "engine/repetition.h"

#include <algorithm>
#include <functional>

#include "engine/code_scan.h"

namespace foretoken::engine {
namespace {

constexpr size_t kRounds = 3;            // so often comes a cycle of lines before it is one
constexpr size_t kLongestLineCycle = 6;  // lines
constexpr uint32_t kRun = 40;            // bytes of one letter
constexpr uint32_t kRuler = 120;         // bytes of blanks, dashes and the like
constexpr uint32_t kCycle = 72;          // bytes of anything else

// How many equal bytes make a cycle of that period?
uint32_t limit(size_t period, std::string_view round) {
  const bool ruler = std::none_of(round.begin(), round.end(), [](char c) { return is_word(c); });
  if (ruler) return kRuler;
  return period == 1 ? kRun : std::max(kCycle, static_cast<uint32_t>(kRounds * period));
}

}  // namespace

std::optional<size_t> Repetition::push(std::string_view text) {
  const char c = text.back();
  if (c == '\n') return end_line(text);
  const size_t longest = std::min(kLongestPeriod, text.size() - 1);
  for (size_t period = 1; period <= longest; ++period) {
    uint32_t& run = run_[period];
    run = text[text.size() - 1 - period] == c ? run + 1 : 0;
    if (run < kRun || run < limit(period, text.substr(text.size() - period))) continue;
    return line_start_ == 0 ? 0 : line_start_ - 1;
  }
  return std::nullopt;
}

std::optional<size_t> Repetition::end_line(std::string_view text) {
  run_.fill(0);  // cycles of lines are counted in lines
  const size_t end = text.size() - 1;
  const std::string_view line = trim_right(text.substr(line_start_, end - line_start_));
  line_start_ = text.size();
  if (line.empty()) return std::nullopt;
  lines_.push_back({std::hash<std::string_view>()(line), end});
  for (size_t period = 1; period <= kLongestLineCycle; ++period) {
    const size_t needed = kRounds * period;
    if (lines_.size() < needed) break;
    const size_t first = lines_.size() - needed;
    bool cycle = true;
    for (size_t i = first + period; cycle && i < lines_.size(); ++i) {
      cycle = lines_[i].hash == lines_[i - period].hash;
    }
    if (cycle) return lines_[first + period - 1].end;
  }
  return std::nullopt;
}

}  // namespace foretoken::engine

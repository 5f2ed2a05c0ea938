#include "lsp/typing_script.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lsp/typist.h"

namespace foretoken::lsp {
namespace {

constexpr size_t kRegionLines = 20;
constexpr size_t kBytesPerKey = 6;  // where half of every line is accepted
constexpr double kSteadyMs = 150, kSpread = 0.5, kBurstMs = 30, kPauseMs = 600;

/// The same numbers with every standard library.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t next() {  // splitmix64
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  double fraction() { return (double(next() >> 11) + 0.5) * 0x1p-53; }  // inside (0, 1)
  size_t between(size_t low, size_t high) { return low + next() % (high - low + 1); }
  double log_normal(double mean) {
    const double normal = std::sqrt(-2 * std::log(fraction())) *
                          std::cos(2 * std::numbers::pi * fraction());
    return mean * std::exp(kSpread * normal - kSpread * kSpread / 2);
  }

 private:
  uint64_t state_;
};

/// How long the fingers wait before the next key.
class Rhythm {
 public:
  Rhythm(Phase phase, Dice& dice) : bursts_(phase == Phase::bursts), dice_(dice) {}
  double wait_ms() {
    if (!bursts_) return dice_.log_normal(kSteadyMs);
    if (left_ == 0) {
      left_ = dice_.between(4, 12) - 1;
      return dice_.log_normal(kPauseMs);
    }
    --left_;
    return kBurstMs;
  }

 private:
  const bool bursts_;
  Dice& dice_;
  size_t left_ = 0;
};

}  // namespace

const char* name(KeyKind kind) {
  switch (kind) {
    case KeyKind::character: return "character";
    case KeyKind::auto_closed: return "auto_closed";
    case KeyKind::typed_over: return "typed_over";
    case KeyKind::backspace: return "backspace";
    case KeyKind::line_break: return "line_break";
    case KeyKind::accept: return "accept";
    case KeyKind::switch_file: return "switch_file";
  }
  return "";
}

const char* name(Phase phase) {
  switch (phase) {
    case Phase::steady: return "steady";
    case Phase::bursts: return "bursts";
    case Phase::backspaces: return "backspaces";
    case Phase::line_breaks: return "line_breaks";
    case Phase::two_files: return "two_files";
    case Phase::accept: return "accept";
  }
  return "";
}

TypedRegion choose_region(std::string text, double where, size_t keys) {
  TypedRegion region{std::move(text)};
  const std::string& all = region.text;
  const auto next_line = [&](size_t at) {
    const size_t newline = all.find('\n', at);
    return newline == std::string::npos ? all.size() : newline + 1;
  };
  const size_t wanted = size_t(double(all.size()) * std::clamp(where, 0.0, 1.0));
  region.begin = wanted == 0 ? 0 : next_line(wanted - 1);
  if (region.begin == all.size()) region.begin = 0;
  region.end = region.begin;
  for (size_t lines = 0; region.end < all.size() &&
                         (lines < kRegionLines || region.end - region.begin < kBytesPerKey * keys); ++lines) {
    region.end = next_line(region.end);
  }
  if (region.end > region.begin && all[region.end - 1] == '\n') --region.end;
  if (region.end > region.begin && all[region.end - 1] == '\r') --region.end;
  return region;
}

TypingScript make_typing_script(const std::vector<TypedRegion>& regions, Phase phase, uint64_t seed,
                                size_t most_keys) {
  Dice dice(seed * kPhases.size() + size_t(phase));
  Rhythm rhythm(phase, dice);
  TypingScript script;
  std::vector<Typist> typists;
  for (const TypedRegion& region : regions) {
    typists.emplace_back(region);
    script.texts.push_back(typists.back().text_at_outset());
    script.cursors.push_back(typists.back().cursor());
  }

  double at_ms = 0;
  size_t document = 0;
  size_t until_switch = dice.between(10, 20), until_accept = dice.between(6, 16);
  int wrong = 0;  // letters still to be mistyped
  while (script.keys.size() < most_keys) {
    const auto left = std::ranges::find_if(typists, [](const Typist& t) { return !t.done(); });
    if (left == typists.end()) break;
    Typist* typist = &typists[document];
    const bool other = typists.size() > 1 && (typist->done() || until_switch == 0);
    Key key;
    if (other) {
      document = (document + 1) % typists.size();
      typist = &typists[document];
      until_switch = dice.between(10, 20);
      key.kind = KeyKind::switch_file;
      key.start = key.cursor = typist->cursor();
    } else if (phase == Phase::line_breaks && typist->typed_in_line() >= 4 && typist->can_accept()) {
      key = typist->accept();
    } else if (phase == Phase::accept && until_accept == 0 && typist->can_accept()) {
      key = typist->accept();
      until_accept = dice.between(6, 16);
    } else if (wrong > 0) {
      --wrong;
      key = typist->wrong_letter();
    } else if (phase == Phase::backspaces && typist->after_letter() && dice.fraction() < 0.12) {
      wrong = int(dice.between(0, 2));
      key = typist->wrong_letter();
    } else {
      key = typist->next();
      if (until_accept > 0) --until_accept;
    }
    if (until_switch > 0 && !other) --until_switch;
    key.document = document;
    key.at_ms = at_ms += rhythm.wait_ms();
    script.keys.push_back(std::move(key));
  }
  return script;
}

}  // namespace foretoken::lsp

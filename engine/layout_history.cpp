#include "engine/layout_history.h"

#include <algorithm>

#include "engine/auto_closed.h"

namespace foretoken::engine {
namespace {

/// Closers that stood right of the cursor when S was pinned and were typed over since.
constexpr size_t kTypedOverBytes = 8;
/// Enough to know a window again by how it begins, or P by how it ends.
constexpr size_t kFirstBytes = 64;
/// Where the end of P is looked for left of the cursor, and how often it may turn out to be another.
constexpr size_t kSearched = 16u << 10;
constexpr int kSearches = 16;

size_t common_prefix(std::string_view a, std::string_view b) {
  return size_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

void keep_context(const Layout& from, Layout* to) {
  to->context = from.context;
  to->context_ids = from.context_ids;
}

}  // namespace

const Layout& LayoutHistory::place(const Tokenizer& tokenizer, const LayoutLimits& limits,
                                   std::string_view text, size_t cursor,
                                   const std::vector<ContextItem>& context) {
  if (limits.usual) {
    Placed usual = anchored(tokenizer, limits, text, cursor, false);
    take_context(tokenizer, limits, context, &usual.layout);
    placed_.assign(1, std::move(usual));
    return placed_.front().layout;
  }
  const auto fits = std::find_if(placed_.begin(), placed_.end(), [&](Placed& placed) {
    return still_fits(tokenizer, limits, text, cursor, &placed);
  });
  if (fits != placed_.end()) {
    std::rotate(placed_.begin(), fits, fits + 1);
    placed_.front().layout.moved = false;
    placed_.front().layout.middle = text.substr(placed_.front().layout.anchor,
                                                cursor - placed_.front().layout.anchor);
  } else {
    auto next = with_new_suffix(tokenizer, limits, text, cursor);
    if (!next) {
      next = anchored(tokenizer, limits, text, cursor, false);
      take_context(tokenizer, limits, context, &next->layout);
    }
    placed_.push_front(*std::move(next));
    if (placed_.size() > kRemembered) placed_.pop_back();
  }
  placed_.front().text_bytes = text.size();
  cursor_ = cursor;
  plan_ahead(tokenizer, limits, text, cursor, context);
  return placed_.front().layout;
}

/// Where P begins now, if it stands left of the cursor: where it stood, or moved by edits above.
std::optional<size_t> LayoutHistory::stands_at(const Placed& placed, std::string_view text,
                                               size_t cursor) {
  const std::string& prefix = placed.layout.prefix;
  // Without a P, what T begins with has to be there.
  const std::string_view first = prefix.empty() ? std::string_view(placed.layout.middle).substr(0, kFirstBytes)
                                                : std::string_view(prefix);
  const auto stands = [&](size_t start) {
    return start + prefix.size() <= cursor && text.substr(start, first.size()) == first;
  };
  const size_t start = placed.layout.window_start;
  if (stands(start)) return start;
  const int64_t shifted = int64_t(start) + int64_t(text.size()) - int64_t(placed.text_bytes);
  if (shifted >= 0 && stands(size_t(shifted))) return size_t(shifted);
  if (prefix.size() < kFirstBytes) return std::nullopt;
  // Edited at several places at once: P ends somewhere in what T may hold left of the cursor.
  const std::string_view end = std::string_view(prefix).substr(prefix.size() - kFirstBytes);
  const std::string_view near = text.substr(0, cursor).substr(cursor - std::min(cursor, kSearched));
  size_t at = near.rfind(end);
  for (int tries = 0; tries < kSearches && at != std::string_view::npos; ++tries) {
    const size_t anchor = cursor - near.size() + at + end.size();
    if (anchor >= prefix.size() && stands(anchor - prefix.size())) return anchor - prefix.size();
    at = at == 0 ? std::string_view::npos : near.rfind(end, at - 1);
  }
  return std::nullopt;
}

/// S stands right of the cursor, behind at most what the editor closed by itself, or without the
/// closers at its beginning that were typed over since.
bool LayoutHistory::pinned_suffix_stands(const Placed& placed, std::string_view middle,
                                         std::string_view after) {
  const std::string_view pinned = placed.layout.suffix;
  // An empty suffix was the end of the file: it still has to be.
  if (pinned.empty()) return auto_closed(after);
  const std::string_view near = after.substr(0, pinned.size() + kAutoClosedBytes);
  const size_t found = near.find(pinned);
  if (found != std::string_view::npos && auto_closed(near.substr(0, found))) return true;
  const std::string_view typed = middle.substr(std::min(placed.first_middle, middle.size()));
  for (size_t over = 1; over <= std::min(kTypedOverBytes, pinned.size()); ++over) {
    const std::string_view closers = pinned.substr(0, over);
    if (!auto_closed(closers) || typed.find(closers) == std::string_view::npos) return false;
    const std::string_view rest = pinned.substr(over);
    if (rest.empty() ? after.empty() : after.starts_with(rest)) return true;
  }
  return false;
}

bool LayoutHistory::still_fits(const Tokenizer& tokenizer, const LayoutLimits& limits,
                               std::string_view text, size_t cursor, Placed* placed) const {
  const auto start = stands_at(*placed, text, cursor);
  if (!start) return false;
  const size_t anchor = *start + placed->layout.prefix.size();
  const std::string_view middle = text.substr(anchor, cursor - anchor);
  if (middle.size() > size_t(limits.longest_middle()) * kBytesPerToken ||
      !pinned_suffix_stands(*placed, middle, text.substr(cursor))) {
    return false;
  }
  const int tokens = count_tokens(tokenizer, middle);
  if (tokens > limits.longest_middle() ||
      tokens + static_cast<int>(placed->layout.prefix_ids.size()) > limits.longest_left()) {
    return false;
  }
  placed->layout.window_start = *start;
  placed->layout.anchor = anchor;
  return true;
}

/// A layout in the window of one we have, with the text that now stands right of the cursor. The
/// cheaper of two: an old anchor, so that S is kept up to where it changed but T comes again; or one
/// near the cursor, so that T is short but all of S is new. Nothing where the window has to jump.
std::optional<LayoutHistory::Placed> LayoutHistory::with_new_suffix(const Tokenizer& tokenizer,
                                                                    const LayoutLimits& limits,
                                                                    std::string_view text,
                                                                    size_t cursor) const {
  if (placed_.empty()) return std::nullopt;
  const std::string_view suffix = suffix_within(tokenizer, text.substr(cursor), limits.suffix());
  const Placed* best = nullptr;
  size_t best_anchor = 0, best_cost = SIZE_MAX;
  for (const Placed& placed : placed_) {
    const auto start = stands_at(placed, text, cursor);
    if (!start) continue;
    const size_t anchor = *start + placed.layout.prefix.size();
    if (cursor - anchor > size_t(limits.middle()) * kBytesPerToken ||
        count_tokens(tokenizer, text.substr(anchor, cursor - anchor)) > limits.middle()) {
      continue;
    }
    const size_t kept = common_prefix(placed.layout.suffix, suffix);
    const size_t cost = suffix.size() - kept + (cursor - anchor);
    if (cost < best_cost) best = &placed, best_anchor = anchor, best_cost = cost;
  }
  Placed near = anchored(tokenizer, limits, text, cursor, true);
  if (near.near) {
    size_t plain = 0;  // bytes behind the window's start that lie in the cache without S, we hope
    for (const Placed& placed : placed_) plain = std::max(plain, placed.plain_bytes);
    const size_t prefix = near.layout.prefix.size();
    const size_t unread = prefix > plain ? prefix - plain : 0;
    if (suffix.size() + near.layout.middle.size() + unread < best_cost) {
      keep_context(placed_.front().layout, &near.layout);
      return near;
    }
  }
  if (best == nullptr) return std::nullopt;
  Placed kept = *best;
  kept.layout = cut_layout(tokenizer, limits, text, cursor, best_anchor - best->layout.prefix.size(),
                           best_anchor);
  keep_context(best->layout, &kept.layout);
  kept.first_middle = kept.layout.middle.size();
  return kept;
}

/// Where the window of the layout in use begins now: where it did, or moved by edits above.
std::optional<size_t> LayoutHistory::window_start_now(std::string_view text, size_t cursor) const {
  if (placed_.empty()) return std::nullopt;
  const Placed& now = placed_.front();
  if (const auto stands = stands_at(now, text, cursor)) return stands;
  // P is edited, or the cursor stands in it: the same bytes must begin there, whatever follows.
  const std::string first = (now.layout.prefix + now.layout.middle).substr(0, kFirstBytes);
  const auto begins = [&](size_t start) { return text.substr(std::min(start, text.size()), first.size()) == first; };
  if (begins(now.layout.window_start)) return now.layout.window_start;
  const int64_t shifted =
      int64_t(now.layout.window_start) + int64_t(text.size()) - int64_t(now.text_bytes);
  if (shifted >= 0 && begins(size_t(shifted))) return size_t(shifted);
  return std::nullopt;
}

/// The window keeps its start while what is left of the cursor fits; else it jumps, leaving a quarter
/// free to type into. `near`: an anchor no further above the cursor than the last cursor was away
/// (where the window stays; the result says so).
LayoutHistory::Placed LayoutHistory::anchored(const Tokenizer& tokenizer, const LayoutLimits& limits,
                                              std::string_view text, size_t cursor, bool near) const {
  // A jump is no reason to read a window again that will soon move anyway.
  const size_t lowest = start_within(tokenizer, text, cursor, near ? limits.window : limits.prefix());
  const auto stays = window_start_now(text, cursor);
  size_t window_start = 0;
  if (stays && *stays <= cursor && *stays >= lowest) {
    window_start = *stays;
  } else {
    const int budget = placed_.empty() ? limits.prefix() - limits.window / 16 : limits.prefix() * 3 / 4;
    window_start = lowest == 0 ? 0 : start_within(tokenizer, text, cursor, budget);
    near = false;
  }
  const size_t between = cursor > cursor_ ? cursor - cursor_ : cursor_ - cursor;
  const size_t anchor = limits.usual ? cursor
                                     : anchor_above(tokenizer, limits, text, cursor, window_start,
                                                    near ? between : SIZE_MAX);
  Placed placed;
  placed.near = near;
  placed.layout = cut_layout(tokenizer, limits, text, cursor, window_start, std::max(anchor, window_start));
  placed.text_bytes = text.size();
  placed.first_middle = placed.layout.middle.size();
  placed.plain_bytes = placed.layout.prefix.size();
  return placed;
}

void LayoutHistory::plan_ahead(const Tokenizer& tokenizer, const LayoutLimits& limits,
                               std::string_view text, size_t cursor,
                               const std::vector<ContextItem>& context) {
  if (plan_) {
    plan_->layout.moved = false;
    if (still_fits(tokenizer, limits, text, cursor, &*plan_)) {
      plan_->text_bytes = text.size();
      plan_->layout.middle = text.substr(plan_->layout.anchor, cursor - plan_->layout.anchor);
      return;
    }
    plan_.reset();
  }
  const Placed& now = placed_.front();
  const std::string& middle = now.layout.middle;
  const bool due = now.near || std::count(middle.begin(), middle.end(), '\n') > 2 * limits.anchor_lines ||
                   count_tokens(tokenizer, middle) > limits.middle();
  if (!due) return;
  Placed full = anchored(tokenizer, limits, text, cursor, false);
  if (full.layout.anchor == now.layout.anchor && full.layout.window_start == now.layout.window_start) {
    placed_.front().near = false;  // there is nothing more to have
    return;
  }
  take_context(tokenizer, limits, context, &full.layout);
  plan_ = std::move(full);
}

void LayoutHistory::carry_out() {
  if (!plan_) return;
  placed_.push_front(*std::move(plan_));
  plan_.reset();
  if (placed_.size() > kRemembered) placed_.pop_back();
}

size_t LayoutHistory::plain_length() const {
  const Layout& now = placed_.front().layout;
  const size_t newline = now.middle.rfind('\n');
  return now.prefix.size() + (newline == std::string::npos ? 0 : newline + 1);
}

std::string LayoutHistory::plain_prefix() const {
  if (placed_.empty() || plain_length() <= placed_.front().plain_bytes) return "";
  const Layout& now = placed_.front().layout;
  return now.prefix + now.middle.substr(0, plain_length() - now.prefix.size());
}

void LayoutHistory::plain_computed() {
  if (!placed_.empty()) placed_.front().plain_bytes = std::max(placed_.front().plain_bytes, plain_length());
}

}  // namespace foretoken::engine

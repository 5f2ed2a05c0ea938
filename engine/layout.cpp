#include "engine/layout.h"

#include <algorithm>

namespace foretoken::engine {
namespace {

/// A token of code is 3 to 4 bytes; no tokenizer in use averages over 8. Bounds how much text is
/// looked at, whatever the size of the file.
constexpr size_t kBytesPerToken = 8;

/// What editors add right of the cursor by themselves: closers and blanks, a few at most.
constexpr size_t kAutoClosedBytes = 16;

size_t character_start(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (text[at] & 0xC0) == 0x80) --at;
  return at;
}

size_t line_start(std::string_view text, size_t at) {
  if (at == 0) return 0;
  const size_t newline = text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

int count_tokens(const Tokenizer& tokenizer, std::string_view text) {
  return static_cast<int>(tokenizer.encode(text).size());
}

/// The first line start from which text[start, end) takes at most `budget` tokens, looking up from
/// `end`. Where the last line alone is longer, a place inside that line.
size_t start_within(const Tokenizer& tokenizer, std::string_view text, size_t end, int budget) {
  size_t start = end;
  int used = 0;
  while (start > 0) {
    const size_t line = line_start(text, start - 1);
    const size_t bytes = start - line;
    if (bytes > size_t(budget) * kBytesPerToken) break;
    used += count_tokens(tokenizer, text.substr(line, bytes));
    if (used > budget) break;
    start = line;
  }
  if (start == end && end > 0 && text[end - 1] != '\n') {
    // One line larger than the budget: as much of its end as fits, by halving.
    size_t bytes = std::min(end, size_t(budget) * kBytesPerToken);
    while (bytes > 1 && count_tokens(tokenizer, text.substr(end - bytes, bytes)) > budget) bytes /= 2;
    start = character_start(text, end - bytes);
  }
  return start;
}

/// The part of `after` that the prompt shows: whole lines within `budget` tokens.
std::string_view suffix_within(const Tokenizer& tokenizer, std::string_view after, int budget) {
  size_t end = 0;
  int used = 0;
  while (end < after.size()) {
    const size_t newline = after.find('\n', end);
    const size_t next = newline == std::string_view::npos ? after.size() : newline + 1;
    if (next - end > size_t(budget) * kBytesPerToken) break;
    used += count_tokens(tokenizer, after.substr(end, next - end));
    if (used > budget) break;
    end = next;
  }
  if (end == 0 && !after.empty()) {
    size_t bytes = std::min(after.size(), size_t(budget) * kBytesPerToken);
    while (bytes > 1 && count_tokens(tokenizer, after.substr(0, bytes)) > budget) bytes /= 2;
    end = character_start(after, bytes);
  }
  return after.substr(0, end);
}

bool auto_closed(std::string_view added) {
  return added.size() <= kAutoClosedBytes &&
         added.find_first_not_of(")]}>\"'`;, ") == std::string_view::npos;
}

}  // namespace

const Layout& LayoutHistory::place(const Tokenizer& tokenizer, const LayoutLimits& limits,
                                   std::string_view text, size_t cursor) {
  layout_.moved = !set_ || !still_fits(tokenizer, limits, text, cursor);
  if (layout_.moved) set_anchor(tokenizer, limits, text, cursor);
  layout_.middle = text.substr(layout_.anchor, cursor - layout_.anchor);
  set_ = true;
  text_bytes_ = text.size();
  return layout_;
}

bool LayoutHistory::still_fits(const Tokenizer& tokenizer, const LayoutLimits& limits,
                               std::string_view text, size_t cursor) {
  if (limits.usual) return false;
  // P stands where it stood, or moved with an edit above the window.
  const auto stands_at = [&](size_t start) {
    return start + layout_.prefix.size() <= cursor &&
           text.substr(start, layout_.prefix.size()) == layout_.prefix;
  };
  size_t start = layout_.window_start;
  if (!stands_at(start)) {
    const int64_t shifted = int64_t(start) + int64_t(text.size()) - int64_t(text_bytes_);
    if (shifted < 0 || !stands_at(size_t(shifted))) return false;
    start = size_t(shifted);
  }
  const size_t anchor = start + layout_.prefix.size();
  const std::string_view middle = text.substr(anchor, cursor - anchor);
  if (std::count(middle.begin(), middle.end(), '\n') > 2 * limits.anchor_lines) return false;
  if (middle.size() > size_t(limits.middle()) * kBytesPerToken ||
      count_tokens(tokenizer, middle) > limits.middle()) {
    return false;
  }
  // S stands right of the cursor, behind at most what the editor closed by itself.
  const std::string_view after = text.substr(cursor);
  const std::string_view near = after.substr(0, layout_.suffix.size() + kAutoClosedBytes);
  const size_t found = near.find(layout_.suffix);
  if (found == std::string_view::npos || !auto_closed(near.substr(0, found))) return false;
  // An empty suffix was the end of the file: it still has to be.
  if (layout_.suffix.empty() && !auto_closed(after)) return false;
  layout_.window_start = start;
  layout_.anchor = anchor;
  return true;
}

void LayoutHistory::set_anchor(const Tokenizer& tokenizer, const LayoutLimits& limits,
                               std::string_view text, size_t cursor) {
  // The window keeps its start while what is left of the cursor fits; else it jumps, leaving a
  // quarter free to type into.
  const size_t near = start_within(tokenizer, text, cursor, limits.prefix());
  const bool keep = set_ && layout_.window_start <= cursor && layout_.window_start >= near &&
                    text.substr(layout_.window_start, 64) == layout_.prefix.substr(0, 64) &&
                    layout_.window_start == line_start(text, layout_.window_start);
  if (!keep) {
    const int budget = set_ ? limits.prefix() * 3 / 4 : limits.prefix() - limits.window / 16;
    layout_.window_start = near == 0 ? 0 : start_within(tokenizer, text, cursor, budget);
  }

  size_t anchor = cursor;
  if (!limits.usual) {
    anchor = line_start(text, cursor);
    for (int i = 0; i < limits.anchor_lines && anchor > layout_.window_start; ++i) {
      const size_t above = line_start(text, anchor - 1);
      if (cursor - above > size_t(limits.middle()) * kBytesPerToken ||
          count_tokens(tokenizer, text.substr(above, cursor - above)) > limits.middle() / 2) {
        break;
      }
      anchor = above;
    }
    anchor = std::max(anchor, layout_.window_start);
    if (cursor - anchor > size_t(limits.middle()) * kBytesPerToken) {  // inside a giant line
      anchor = start_within(tokenizer, text, cursor, limits.middle() / 2);
    }
  }
  layout_.anchor = anchor;
  layout_.prefix = text.substr(layout_.window_start, anchor - layout_.window_start);
  layout_.suffix = suffix_within(tokenizer, text.substr(cursor), limits.suffix());
  layout_.prefix_ids = tokenizer.encode(layout_.prefix);
  layout_.suffix_ids = tokenizer.encode(layout_.suffix);
}

}  // namespace foretoken::engine

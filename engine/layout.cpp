#include "engine/layout.h"

#include <algorithm>

namespace foretoken::engine {
namespace {

size_t character_start(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (text[at] & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

size_t line_start(std::string_view text, size_t at) {
  if (at == 0) return 0;
  const size_t newline = text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

int count_tokens(const Tokenizer& tokenizer, std::string_view text) {
  return static_cast<int>(tokenizer.encode(text).size());
}

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

size_t anchor_above(const Tokenizer& tokenizer, const LayoutLimits& limits, std::string_view text,
                    size_t cursor, size_t window_start, size_t most_bytes) {
  const size_t most = std::min(most_bytes, size_t(limits.middle()) * kBytesPerToken);
  size_t anchor = line_start(text, cursor);
  for (int i = 0; i < limits.anchor_lines && anchor > window_start; ++i) {
    const size_t above = line_start(text, anchor - 1);
    if (cursor - above > most ||
        count_tokens(tokenizer, text.substr(above, cursor - above)) > limits.middle() / 2) {
      break;
    }
    anchor = above;
  }
  anchor = std::max(anchor, window_start);
  if (cursor - anchor > size_t(limits.middle()) * kBytesPerToken ||
      count_tokens(tokenizer, text.substr(anchor, cursor - anchor)) > limits.middle() / 2) {
    // Inside a giant line.
    anchor = std::max(window_start, start_within(tokenizer, text, cursor, limits.middle() / 2));
  }
  return anchor;
}

void take_context(const Tokenizer& tokenizer, const LayoutLimits& limits,
                  const std::vector<ContextItem>& items, Layout* layout) {
  layout->context.clear();
  layout->context_ids.clear();
  int used = 0;
  for (const ContextItem& item : items) {
    if (item.text.size() > size_t(limits.context()) * kBytesPerToken) continue;
    std::vector<TokenId> ids = tokenizer.encode(item.text);
    if (used + static_cast<int>(ids.size()) > limits.context()) continue;
    used += static_cast<int>(ids.size());
    layout->context.push_back(item);
    layout->context_ids.push_back(std::move(ids));
  }
}

Layout cut_layout(const Tokenizer& tokenizer, const LayoutLimits& limits, std::string_view text,
                  size_t cursor, size_t window_start, size_t anchor) {
  Layout layout;
  layout.window_start = window_start;
  layout.anchor = anchor;
  layout.prefix = text.substr(window_start, anchor - window_start);
  layout.middle = text.substr(anchor, cursor - anchor);
  layout.suffix = suffix_within(tokenizer, text.substr(cursor), limits.suffix());
  layout.prefix_ids = tokenizer.encode(layout.prefix);
  layout.suffix_ids = tokenizer.encode(layout.suffix);
  layout.moved = true;
  return layout;
}

}  // namespace foretoken::engine

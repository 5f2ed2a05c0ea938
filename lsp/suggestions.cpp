#include "lsp/suggestions.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/auto_closed.h"
#include "lsp/completion.h"

namespace foretoken::lsp {

size_t Suggestions::bytes_of(const Entry& entry) {
  const Snapshot& document = *entry.snapshot;
  return sizeof(Entry) + entry.text.size() + document.text().size() +
         (&document.lf() == &document.text() ? 0 : document.lf().size()) +
         document.lines().lines() * sizeof(size_t);
}

size_t Suggestions::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void Suggestions::remember(const CompletionQuery& query, const CompletionAnswer& answer) {
  if (!answer.error.empty() || answer.finish == engine::Finish::cancelled) return;
  const Snapshot& document = *query.document;
  if (document.text().size() > kLargestDocument) return;
  auto entry = std::make_shared<Entry>();
  entry->document = canonical_uri(document.uri());
  entry->path = query.path;
  entry->mode = query.mode;
  entry->max_tokens = query.max_tokens;
  entry->snapshot = query.document;
  entry->cursor = document.to_lf_offset(query.cursor);
  // Offsets within one line are the same distances in the text with LF line ends.
  entry->start = entry->cursor - (query.cursor - answer.start);
  entry->end = entry->cursor + (answer.end - query.cursor);
  entry->text = answer.text;
  entry->reason = answer.reason;

  const std::lock_guard lock(mutex_);
  bytes_ += bytes_of(*entry);
  entries_.push_front(std::move(entry));
  while (entries_.size() > kEntries || (bytes_ > kBytes && entries_.size() > 1)) {
    bytes_ -= bytes_of(*entries_.back());
    entries_.pop_back();
  }
}

namespace {

/// Whether all of `part` stands in `text`, in order.
bool in_order(std::string_view part, std::string_view text) {
  for (const char c : text) {
    if (!part.empty() && c == part.front()) part.remove_prefix(1);
  }
  return part.empty();
}

}  // namespace

std::optional<CompletionAnswer> type_through(const PlacedSuggestion& shown, const Snapshot& document,
                                             size_t cursor) {
  const std::string_view now = document.lf(), then = shown.document;
  const size_t at = document.to_lf_offset(cursor);
  if (at <= shown.cursor || at - shown.start >= shown.text.size()) return std::nullopt;
  const std::string_view typed = now.substr(shown.start, at - shown.start);
  const std::string_view after = then.substr(shown.cursor), after_now = now.substr(at);
  if (!shown.text.starts_with(typed) || after_now.size() < after.size() || !after_now.ends_with(after) ||
      !engine::auto_closed(after_now.substr(0, after_now.size() - after.size())) ||
      now.substr(0, shown.start) != then.substr(0, shown.start)) {
    return std::nullopt;
  }
  const std::string_view rest = shown.text.substr(typed.size());
  const std::string_view closed = after_now.substr(0, after_now.size() - after.size());
  const size_t replaced = closed.size() + (shown.end - shown.cursor);
  CompletionAnswer answer;
  answer.source = engine::Source::typed_through;
  // What was right of the cursor then is replaced as it would have been; so is what the editor closed,
  // where the rest brings it. (A replacement stays in the cursor's line.)
  const bool in_line = after_now.substr(0, replaced).find('\n') == std::string_view::npos;
  if (in_line && in_order(closed, rest)) {
    if (rest == after_now.substr(0, replaced)) return std::nullopt;  // all of it stands there
    answer.start = cursor;
    answer.end = cursor + replaced;
    answer.text = rest;
    return answer;
  }
  finish_answer(document, cursor, rest, /*from_line_start=*/false, &answer);
  if (answer.text.empty()) return std::nullopt;
  return answer;
}

std::optional<CompletionAnswer> Suggestions::find(const CompletionQuery& query) const {
  const Snapshot& document = *query.document;
  const std::string name = canonical_uri(document.uri());
  const size_t cursor = document.to_lf_offset(query.cursor);
  std::vector<std::shared_ptr<const Entry>> entries;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) {
      if (entry->document == name && entry->path == query.path && entry->mode == query.mode &&
          entry->max_tokens == query.max_tokens) {
        entries.push_back(entry);
      }
    }
  }
  for (const auto& entry : entries) {
    CompletionAnswer answer;
    if (entry->cursor == cursor &&
        (entry->snapshot == query.document || entry->snapshot->lf() == document.lf())) {
      answer.source = engine::Source::cache;
      answer.text = entry->text;
      answer.reason = entry->reason;
      answer.start = query.cursor - (entry->cursor - entry->start);
      answer.end = query.cursor + (entry->end - entry->cursor);
      return answer;
    }
    if (auto typed = type_through({entry->snapshot->lf(), entry->cursor, entry->start, entry->end, entry->text},
                                  document, query.cursor)) {
      return typed;
    }
  }
  return std::nullopt;
}

}  // namespace foretoken::lsp

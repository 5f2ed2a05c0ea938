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

/// What is left of the entry's text where the user has typed its beginning; nothing else may have
/// changed but for what the editor closed by itself right of the cursor.
std::optional<std::string> Suggestions::rest_after_typing(const Entry& entry, const std::string& text,
                                                          size_t cursor) {
  const std::string_view now = text, then = entry.snapshot->lf();
  if (cursor <= entry.cursor || cursor - entry.start >= entry.text.size()) return std::nullopt;
  const std::string_view typed = now.substr(entry.start, cursor - entry.start);
  const std::string_view after = then.substr(entry.cursor), after_now = now.substr(cursor);
  if (!std::string_view(entry.text).starts_with(typed) || after_now.size() < after.size() ||
      !engine::auto_closed(after_now.substr(0, after_now.size() - after.size())) ||
      !after_now.ends_with(after) || now.substr(0, entry.start) != then.substr(0, entry.start)) {
    return std::nullopt;
  }
  return entry.text.substr(typed.size());
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
    const auto rest = rest_after_typing(*entry, document.lf(), cursor);
    if (!rest) continue;
    answer.source = engine::Source::typed_through;
    finish_answer(document, query.cursor, *rest, /*from_line_start=*/false, &answer);
    if (!answer.text.empty()) return answer;
  }
  return std::nullopt;
}

}  // namespace foretoken::lsp

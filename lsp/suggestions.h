// Answers that need no model: a suggestion that what was typed since agrees with, and a place that was
// asked about before. Other servers key such a cache by the prefix alone, or without blanks, and show
// what is no longer true; here a suggestion counts only where the whole document around it is the same.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "lsp/completer.h"

namespace foretoken::lsp {

/// A suggestion at its place, in a text with LF line ends: `text` replaces [start, end), which lies in
/// the cursor's line, around the cursor.
struct PlacedSuggestion {
  std::string_view document;
  size_t cursor = 0, start = 0, end = 0;
  std::string_view text;
};

/// What is left of the suggestion where its beginning was typed and nothing else has changed but for
/// what the editor closed by itself right of the cursor. Accepting the rest gives what accepting all of
/// it would have given.
std::optional<CompletionAnswer> type_through(const PlacedSuggestion& shown, const Snapshot& now, size_t cursor);

/// Thread-safe. Lives and dies with one model and one set of options.
class Suggestions {
 public:
  /// The answer to `query`, if one is known: Source::typed_through or Source::cache.
  std::optional<CompletionAnswer> find(const CompletionQuery& query) const;

  /// `answer` is what `query` was answered with; kept unless it failed or was cancelled.
  void remember(const CompletionQuery& query, const CompletionAnswer& answer);

  size_t bytes() const;

 private:
  struct Entry {
    std::string document;  // canonical URI
    std::string path;
    engine::Mode mode;
    int max_tokens;
    std::shared_ptr<const Snapshot> snapshot;
    size_t cursor, start, end;  // in the text with LF line ends; start <= cursor <= end
    std::string text;           // LF; "": nothing was suggested, see reason
    std::string reason;
  };
  static constexpr size_t kEntries = 64;
  static constexpr size_t kBytes = 32u << 20;         // of documents and texts held
  static constexpr size_t kLargestDocument = 8u << 20;

  static size_t bytes_of(const Entry& entry);

  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const Entry>> entries_;  // the newest first
  size_t bytes_ = 0;
};

}  // namespace foretoken::lsp

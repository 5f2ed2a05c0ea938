// What the files of insertion share: the place, and the text on its way. Not for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/code_scan.h"
#include "engine/opener.h"
#include "lsp/insertion.h"

namespace foretoken::lsp::rules {

/// The document around the cursor: windows of it, and the state of the code there. Immutable.
struct Place {
  explicit Place(const InsertionPlace& place);

  std::string_view after;
  engine::Lexical lexical;
  std::string_view before;  // begins where a scan may begin
  engine::Surroundings around;
  engine::CodeScanner scanner;                        // has read `before`
  bool shell_case;                                    // ')' may end a pattern
  std::vector<bool> closed_in_rest, closed_in_after;  // of the brackets open at the cursor
  bool quote_closed_in_rest;  // the cursor is in a string that ends in its line
};

/// The text on its way. `reason` ends it.
struct Draft {
  std::string text;
  size_t drop_before = 0, drop_after = 0;
  bool cut = false;  // its end is not where the model ended, nor where the document goes on
  std::string reason;
};

/// A bracket or quote in the text that the text has not opened.
struct OuterCloser {
  enum class Fate : uint8_t { free, in_rest, below, stray };  // who closes it already; nobody: free
  size_t at;
  char c;
  Fate fate;
  bool surplus() const { return fate != Fate::free; }
};

/// Brackets and quotes that `text` closes at the place but has not opened.
std::vector<OuterCloser> outer_closers(const Place& place, std::string_view text);

/// The document behind the cursor, as far as it is looked at to see whether brackets fit.
std::string_view behind(const Place& place, size_t drop_after = 0, size_t at_least = 0);

/// How badly brackets and quotes fit together when `text` stands at the cursor and `behind`
/// follows: first by those that close nothing or the wrong one, then by those that close one of
/// another indentation, then by what is open at the end. What was wrong before counts too, so only
/// comparisons mean anything.
size_t misfit(const Place& place, std::string_view text, std::string_view behind);

/// What stays of the rest of the cursor's line.
std::string_view rest_left(const Place& place, const Draft& draft);

/// What brackets and quotes of a text do at the place. Immutable.
struct Marks {
  Marks(const Place& place, std::string_view text);

  /// No pair of brackets or quotes of the text is torn when it is cut before byte `at`.
  bool may_cut(size_t at) const { return torn_[at] == 0; }
  /// Place of the first closer from `from` on that may not stay; npos where there is none.
  size_t first_surplus(size_t from = 0) const;

  std::vector<OuterCloser> outer;
  std::vector<engine::OpenBracket> open;  // by the text, not closed; `at` counts in the text
  bool in_own_string = false;             // at its end
  bool own_string_spans_lines = false;
  size_t own_string_at = 0;
  char own_quote = 0;

 private:
  std::vector<int> torn_;
};

/// Each takes the draft one step on; a draft with a reason is not touched again.
void clean_characters(const Place& place, Draft& draft);
void fit_style(const Place& place, Draft& draft);                         // tabs or spaces
void fit_indentation(const Place& place, bool whole_line, Draft& draft);  // of the first line
void dedent_closers(const Place& place, Draft& draft);
void trim_blanks(const Place& place, Draft& draft);
void cut_lines_below(const Place& place, Draft& draft);
void join_rest(const Place& place, Draft& draft);
void keep_balance(const Place& place, Draft& draft);
void keep_apart(const Place& place, Draft& draft);

}  // namespace foretoken::lsp::rules

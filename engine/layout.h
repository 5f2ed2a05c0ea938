// Where a prompt's parts begin and end:
//
//   document:  ....|window start|........P........|anchor|....T....|cursor|....S....|window end|....
//   prompt:    header <PRE> P <SUF> S <MID> T          (prefix-suffix-middle)
//
// Pure functions of a text and a cursor; engine/layout_history keeps layouts from request to request.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/completion.h"
#include "engine/tokenizer.h"

namespace foretoken::engine {

struct LayoutLimits {
  int window = 2048;       // tokens of P, S and T together when the anchor is set
  int anchor_lines = 30;   // lines between anchor and cursor when it is set: 6 to 30 measured best
                           // (exact match inside a line 74 to 75 %, at a line start 46 to 52 %)
  bool usual = false;      // everything left of the cursor in P, nothing behind the middle token

  int prefix() const { return window * 3 / 4; }       // P and T
  int suffix() const { return window / 4; }
  int context() const { return window / 4; }          // items beyond this are left out, whole
  int middle() const { return window / 4; }           // T beyond this is due for a new anchor
  int longest_middle() const { return window / 2; }   // T beyond this gets one at once
  int longest_left() const { return window * 5 / 4; } // P and T beyond this too
};

/// Parts of one request's prompt.
struct Layout {
  size_t window_start = 0, anchor = 0;   // byte offsets in the text
  std::string prefix, suffix;            // P and S
  std::vector<TokenId> prefix_ids, suffix_ids;
  std::string middle;                    // T
  std::vector<ContextItem> context;      // stands before P; pinned with the anchor
  std::vector<std::vector<TokenId>> context_ids;  // of their texts
  bool moved = false;                    // the anchor, or S, was set for this request
};

/// A token of code is 3 to 4 bytes; no tokenizer in use averages over 8. Bounds how much text is
/// looked at, whatever the size of the file.
inline constexpr size_t kBytesPerToken = 8;

size_t line_start(std::string_view text, size_t at);
int count_tokens(const Tokenizer& tokenizer, std::string_view text);

/// The first line start from which text[start, end) takes at most `budget` tokens, looking up from
/// `end`. Where the last line alone is longer, a place inside that line.
size_t start_within(const Tokenizer& tokenizer, std::string_view text, size_t end, int budget);

/// The part of `after` that the prompt shows: whole lines within `budget` tokens; of a longer first
/// line as much as fits.
std::string_view suffix_within(const Tokenizer& tokenizer, std::string_view after, int budget);

/// The line start at most `limits.anchor_lines` above the cursor's line, not above `window_start`,
/// with at most `most_bytes` between it and the cursor. Inside a giant line, a place in that line.
size_t anchor_above(const Tokenizer& tokenizer, const LayoutLimits& limits, std::string_view text,
                    size_t cursor, size_t window_start, size_t most_bytes);

/// Fills the layout's context with the items that fit, in order.
void take_context(const Tokenizer& tokenizer, const LayoutLimits& limits,
                  const std::vector<ContextItem>& items, Layout* layout);

/// P, S and T cut out and tokenised.
Layout cut_layout(const Tokenizer& tokenizer, const LayoutLimits& limits, std::string_view text,
                  size_t cursor, size_t window_start, size_t anchor);

}  // namespace foretoken::engine

// Where a prompt's parts begin and end, kept from request to request so that the cache stays warm:
//
//   document:  ....|window start|........P........|anchor|....T....|cursor|....S....|window end|....
//   prompt:    header <PRE> P <SUF> S <MID> T          (prefix-suffix-middle)
//
// Typing only appends to T. P and S stay as they were when the anchor was set: S is pinned, what the
// editor adds right of the cursor during the burst (closed brackets and quotes) is left out. The
// window starts on a line border and jumps by a quarter of its size; it never slides.
// A function of the document, its history of requests and the limits: never of the cache or clock.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer.h"

namespace foretoken::engine {

struct LayoutLimits {
  int window = 2048;       // tokens of P, S and T together when the anchor is set
  int anchor_lines = 30;   // lines between anchor and cursor when it is set: 6 to 30 measured best
                           // (exact match inside a line 74 to 75 %, at a line start 46 to 52 %)
  bool usual = false;      // everything left of the cursor in P, nothing behind the middle token

  int prefix() const { return window * 3 / 4; }   // P and T
  int suffix() const { return window / 4; }
  int middle() const { return window / 4; }       // T may grow to this before the anchor moves
};

/// Parts of one request's prompt.
struct Layout {
  size_t window_start = 0, anchor = 0;   // byte offsets in the text
  std::string prefix, suffix;            // P and S
  std::vector<TokenId> prefix_ids, suffix_ids;
  std::string middle;                    // T
  bool moved = false;                    // the anchor was set for this request
};

/// The layout history of one document. Engine thread.
class LayoutHistory {
 public:
  /// `text` has LF line ends; cursor <= text.size().
  const Layout& place(const Tokenizer& tokenizer, const LayoutLimits& limits, std::string_view text,
                      size_t cursor);

 private:
  bool still_fits(const Tokenizer& tokenizer, const LayoutLimits& limits, std::string_view text,
                  size_t cursor);
  void set_anchor(const Tokenizer& tokenizer, const LayoutLimits& limits, std::string_view text,
                  size_t cursor);

  Layout layout_;
  bool set_ = false;
  size_t text_bytes_ = 0;  // size of the text when layout_ was last used
};

}  // namespace foretoken::engine

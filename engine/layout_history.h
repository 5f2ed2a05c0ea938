// Layouts kept from request to request, so that the cache stays warm. Typing only appends to T: P and
// S stay as they were when the anchor was set. S is pinned; what the editor closes by itself right of
// the cursor during the burst is left out. The window starts on a line border and jumps by a quarter
// of its size; it never slides.
//
//   T too long for comfort     a new anchor is planned; it counts once the engine says that its prompt
//                              is computed (idle time), so the typist never waits for it
//   T too long, or first seen  a new anchor at once, at its price
//   text right of the cursor   S anew, or S and a near anchor: whichever costs less. A jump costs at
//   changed, or a jump         most what lies between and S; the full anchor is planned
//   other context items        kept for the next planned anchor, or for a window that jumps: they stand
//                              before everything else
//   back at a former place     the layout of that place, whose prompt is likely still cached
//
// A function of the document, its history of requests and plans carried out, and the limits: never of
// the cache, the clock or the load.
#pragma once

#include <deque>
#include <optional>
#include <string_view>

#include "engine/layout.h"

namespace foretoken::engine {

/// The layout history of one document. Engine thread. A value: a copy tries what a request would do.
class LayoutHistory {
 public:
  /// `text` has LF line ends; cursor <= text.size(). Valid until the next call.
  const Layout& place(const Tokenizer& tokenizer, const LayoutLimits& limits, std::string_view text,
                      size_t cursor, const std::vector<ContextItem>& context = {});

  /// The layout that should come next: compute its prompt, then call carry_out(). Null: none is due.
  const Layout* planned() const { return plan_ ? &plan_->layout : nullptr; }
  void carry_out();

  /// P and the complete lines of T: computed without S they make the next anchor and every jump cheap.
  /// "" where that is computed already, as plain_computed() says.
  std::string plain_prefix() const;
  const Layout& current() const { return placed_.front().layout; }  // after a first place()
  void plain_computed();

 private:
  struct Placed {
    Layout layout;
    size_t text_bytes = 0;      // size of the text when last used
    size_t first_middle = 0;    // bytes of T when the anchor was set
    size_t plain_bytes = 0;     // behind the window's start, computed without S
    bool near = false;          // the anchor was set close to the cursor to make a jump cheap
  };
  static constexpr size_t kRemembered = 4;

  static std::optional<size_t> stands_at(const Placed& placed, std::string_view text, size_t cursor);
  static bool pinned_suffix_stands(const Placed& placed, std::string_view middle, std::string_view after);
  bool still_fits(const Tokenizer& tokenizer, const LayoutLimits& limits, std::string_view text,
                  size_t cursor, Placed* placed) const;
  std::optional<Placed> with_new_suffix(const Tokenizer& tokenizer, const LayoutLimits& limits,
                                        std::string_view text, size_t cursor) const;
  std::optional<size_t> window_start_now(std::string_view text, size_t cursor) const;
  Placed anchored(const Tokenizer& tokenizer, const LayoutLimits& limits, std::string_view text,
                  size_t cursor, bool near) const;
  void plan_ahead(const Tokenizer& tokenizer, const LayoutLimits& limits, std::string_view text,
                  size_t cursor, const std::vector<ContextItem>& context);

  size_t plain_length() const;

  std::deque<Placed> placed_;  // the one in use first
  std::optional<Placed> plan_;
  size_t cursor_ = 0;          // of the last request
};

}  // namespace foretoken::engine

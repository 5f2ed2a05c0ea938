// From raw model text to an edit that is safe to accept, or to nothing and a reason. Pure: texts in,
// edit out. LF line ends only; callers convert.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/completion.h"

namespace foretoken::lsp {

struct InsertionPlace {
  std::string_view before;  // document left of the cursor
  std::string_view after;   // document right of the cursor
};

/// Replace the `drop_before` bytes left of the cursor and the `drop_after` bytes right of it (both
/// within the cursor's line) by `text`. What is dropped on the right is always reproduced in `text`;
/// what is dropped on the left is white space (dedent) only. Empty text: nothing to show, see `reason`.
struct Insertion {
  std::string text;
  size_t drop_before = 0, drop_after = 0;
  std::string reason;  // "" where text is not empty; else e.g. "already present", "blank", "unbalanced"
};

/// `raw` is what the stop rules kept. It may be anything: any bytes, any length.
Insertion make_insertion(const InsertionPlace& place, std::string_view raw);

}  // namespace foretoken::lsp

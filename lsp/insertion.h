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
  /// The text begins at column 0 of the cursor's line, with the indentation it should have (asked for
  /// where only blanks stand left of the cursor); else it goes on at the cursor.
  bool whole_line = false;
};

/// The rules, in order (a file each):
///   characters  nothing hidden, no control characters, no broken UTF-8, no other document's marks
///   indentation what is typed is not typed again; dedent for closing brackets and words; tabs as the
///               file has them; no blanks at line ends
///   overlap     lines that stand below, and the rest of the line, do not come again; a bracket or
///               quote is closed once; where text goes on behind what stands there, that is replaced
///               by its own repetition; nothing runs into the word that follows
/// Every step only looks at some 32 KiB around the cursor.
///
/// Replace the `drop_before` bytes left of the cursor and the `drop_after` bytes right of it (both
/// within the cursor's line) by `text`. What is dropped on the right is always reproduced in `text`;
/// what is dropped on the left is white space (dedent) only. Empty text: nothing to show, see `reason`.
struct Insertion {
  std::string text;
  size_t drop_before = 0, drop_after = 0;
  std::string reason;  // "" where text is not empty; else e.g. "already present", "blank"
};

/// `raw` is what the stop rules kept. It may be anything: any bytes, any length.
Insertion make_insertion(const InsertionPlace& place, std::string_view raw);

}  // namespace foretoken::lsp

// Between what an editor asks and what a Completer answers: which text and cursor to complete, and
// the item whose range and text every known client shows. Pure.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "lsp/completer.h"
#include "lsp/documents.h"
#include "lsp/protocol.h"
#include "lsp/text.h"

namespace foretoken::lsp {

struct InlineQuestion {
  std::shared_ptr<const Snapshot>
      document;  // with the selected suggestion in place, if there is one
  size_t cursor = 0;
  std::optional<SelectedCompletion>
      selected;  // the item must keep this range and begin with this text
};

/// Nothing where the selected suggestion does not lie around the cursor on its line: no item could
/// honour it. A selection of text that is there already (Neovim's visual mode) is no suggestion and
/// is passed over.
std::optional<InlineQuestion> make_question(std::shared_ptr<const Snapshot> document, Position at,
                                            const std::optional<SelectedCompletion>& selected,
                                            PositionEncoding encoding);

/// The item, or nothing where the answer is empty, changes nothing, or does not fit the question.
///
/// Editors replace an item whose range starts elsewhere than the last one's, which flickers. So the
/// range starts at the line's first non-blank (the word's start, where that is far), not at the
/// cursor, and the text between is repeated in front. It always lies on the cursor's line, around
/// the cursor: without that one editor replaces the rest of the line and others show nothing.
std::optional<InlineItem> make_item(const InlineQuestion& question, const CompletionAnswer& answer,
                                    PositionEncoding encoding);

}  // namespace foretoken::lsp

// The JSON form of an answer on the command line (design: one object per answer, stable names).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lsp/completer.h"

namespace foretoken::lsp {

/// Lines and columns count from 1, columns in bytes. `text` gets the document's own line ends.
nlohmann::ordered_json answer_json(const Snapshot& document, const CompletionAnswer& answer, bool card,
                                   bool prompt);

/// `text` with every LF replaced by the document's line end.
std::string with_line_ends(std::string_view text, std::string_view line_end);

}  // namespace foretoken::lsp

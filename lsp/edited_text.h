// A text under a run of edits, each against the state the one before left: cut into pieces at line
// starts, so that one edit costs a piece and not the document.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsp/text.h"

namespace foretoken::lsp {

/// Front thread. A value; lives for one change notification.
class EditedText {
 public:
  EditedText(std::string_view text, const LineIndex& lines);

  size_t lines() const { return lines_; }
  /// Positions are clamped. False, and nothing done, where the start comes after the end.
  bool replace(const Range& range, PositionEncoding encoding, std::string_view text);
  std::string str() const;

 private:
  // All pieces but the last end in \n, so that no \r\n and no line lies in two of them.
  struct Piece {
    std::string text;
    size_t breaks;  // line ends in it
  };
  struct Place {
    size_t piece, offset;
    auto operator<=>(const Place&) const = default;
  };
  Place place_of(Position at, PositionEncoding encoding) const;
  static void append_pieces(std::string_view text, const LineIndex& lines,
                            std::vector<Piece>& pieces);

  std::vector<Piece> pieces_;  // never empty
  size_t lines_ = 1;
};

}  // namespace foretoken::lsp

#include "lsp/edited_text.h"

#include <iterator>

namespace foretoken::lsp {
namespace {

constexpr size_t kPieceBytes = 32 * 1024;

}  // namespace

EditedText::EditedText(std::string_view text, const LineIndex& lines) : lines_(lines.lines()) {
  append_pieces(text, lines, pieces_);
}

void EditedText::append_pieces(std::string_view text, const LineIndex& lines,
                               std::vector<Piece>& pieces) {
  size_t first = 0;
  for (size_t line = 1; line < lines.lines(); ++line) {
    const size_t start = lines.start(first);
    const size_t end = lines.start(line);
    if (end - start < kPieceBytes || text[end - 1] != '\n') continue;
    pieces.push_back({std::string(text.substr(start, end - start)), line - first});
    first = line;
  }
  // The last piece may be empty: a text that ends in a line end has one more, empty line.
  pieces.push_back({std::string(text.substr(lines.start(first))), lines.lines() - 1 - first});
}

EditedText::Place EditedText::place_of(Position at, PositionEncoding encoding) const {
  size_t line = at.line;
  size_t piece = 0;
  // A position at the end of a piece is the start of the next: line `breaks` of a piece that ends
  // in \n is empty there and begins the next piece.
  while (piece + 1 < pieces_.size() && line >= pieces_[piece].breaks) {
    line -= pieces_[piece].breaks;
    ++piece;
  }
  const Piece& found = pieces_[piece];
  const LineIndex lines(found.text);
  if (line >= lines.lines()) return {piece, found.text.size()};
  const Position within{static_cast<uint32_t>(line), at.character};
  return {piece, offset_of(found.text, lines, within, encoding)};
}

bool EditedText::replace(const Range& range, PositionEncoding encoding, std::string_view text) {
  const Place start = place_of(range.start, encoding);
  const Place end = place_of(range.end, encoding);
  if (start > end) return false;
  size_t first = start.piece;
  size_t last = end.piece + 1;
  std::string joined = pieces_[first].text.substr(0, start.offset);
  joined.append(text);
  joined.append(pieces_[end.piece].text, end.offset);
  while (last < pieces_.size() && !joined.ends_with('\n')) joined.append(pieces_[last++].text);

  for (size_t i = first; i < last; ++i) lines_ -= pieces_[i].breaks;
  const LineIndex index(joined);
  lines_ += index.lines() - 1;
  std::vector<Piece> pieces;
  append_pieces(joined, index, pieces);
  // What ends in \n leaves an empty last piece, which has its place at the end of the text only.
  if (last < pieces_.size() && pieces.back().text.empty()) pieces.pop_back();

  const auto at = pieces_.begin() + static_cast<std::ptrdiff_t>(first);
  pieces_.insert(pieces_.erase(at, pieces_.begin() + static_cast<std::ptrdiff_t>(last)),
                 std::make_move_iterator(pieces.begin()), std::make_move_iterator(pieces.end()));
  return true;
}

std::string EditedText::str() const {
  size_t size = 0;
  for (const Piece& piece : pieces_) size += piece.text.size();
  std::string whole;
  whole.reserve(size);
  for (const Piece& piece : pieces_) whole.append(piece.text);
  return whole;
}

}  // namespace foretoken::lsp

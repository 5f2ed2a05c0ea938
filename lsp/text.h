// Positions and edits. Offsets are bytes into UTF-8 text; LSP positions are line + character in the
// negotiated encoding. All functions are pure and clamp, they never fail: a position past the end of
// a line is the line's end, past the last line the text's end, inside a surrogate pair or a UTF-8
// sequence the start of that character. Line ends are \n, \r\n and \r (LSP 3.18, "Text Documents").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::lsp {

enum class PositionEncoding : uint8_t { utf8, utf16, utf32 };
const char* name(PositionEncoding encoding);  // "utf-8", …

struct Position {
  uint32_t line = 0, character = 0;
  auto operator<=>(const Position&) const = default;
};
struct Range {
  Position start, end;
  bool operator==(const Range&) const = default;
};

/// Byte offsets at which lines begin; the first is 0. Immutable value.
class LineIndex {
 public:
  LineIndex() : starts_{0} {}
  explicit LineIndex(std::string_view text);
  size_t lines() const { return starts_.size(); }
  size_t start(size_t line) const { return starts_[line]; }
  size_t line_of(size_t offset) const;
  /// End of the line's content, before its line end.
  size_t content_end(std::string_view text, size_t line) const;

 private:
  std::vector<size_t> starts_;
};

size_t offset_of(std::string_view text, const LineIndex& lines, Position at, PositionEncoding encoding);
Position position_of(std::string_view text, const LineIndex& lines, size_t offset, PositionEncoding encoding);

/// True where `at` names a place in the text, false where offset_of had to clamp.
bool is_exact(std::string_view text, const LineIndex& lines, Position at, PositionEncoding encoding);

/// The character at byte `at` (< text.size()). A byte that is not part of a valid UTF-8 sequence
/// (overlong forms and surrogates are not valid) is a character of its own: one byte, one unit.
struct Character {
  char32_t value;  // the byte itself where not valid
  uint8_t bytes;
  bool valid;
};
Character character_at(std::string_view text, size_t at);

/// \r\n and lone \r become \n.
std::string to_lf(std::string_view text);

/// `text` as valid UTF-8: each byte that is not part of a sequence becomes U+FFFD.
std::string valid_utf8(std::string_view text);
bool is_valid_utf8(std::string_view text);

}  // namespace foretoken::lsp

#include "lsp/text.h"

#include <algorithm>
#include <cstring>

namespace foretoken::lsp {
namespace {

unsigned char byte_at(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

size_t units(const Character& character, PositionEncoding encoding) {
  switch (encoding) {
    case PositionEncoding::utf8:
      return character.bytes;
    case PositionEncoding::utf16:
      return character.valid && character.value > 0xFFFF ? 2 : 1;
    case PositionEncoding::utf32:
      return 1;
  }
  return 1;
}

// Start of the character that holds byte `at`. A lead byte is never inside another sequence, so
// looking back three bytes suffices.
size_t character_start(std::string_view text, size_t at) {
  if (at >= text.size()) return text.size();
  for (size_t back = 1; back <= 3 && back <= at; ++back) {
    const size_t start = at - back;
    if ((byte_at(text, start) & 0xC0) == 0x80) continue;
    const Character character = character_at(text, start);
    return character.bytes > back ? start : at;
  }
  return at;
}

struct Located {
  size_t offset;
  bool exact;
};

Located locate(std::string_view text, const LineIndex& lines, Position at,
               PositionEncoding encoding) {
  if (at.line >= lines.lines()) return {text.size(), false};
  const size_t start = lines.start(at.line);
  const size_t end = lines.content_end(text, at.line);
  if (encoding == PositionEncoding::utf8) {
    if (at.character > end - start) return {end, false};
    const size_t wanted = start + at.character;
    const size_t found = wanted == end ? end : character_start(text, wanted);
    return {found, found == wanted};
  }
  uint64_t left = at.character;
  size_t offset = start;
  while (left > 0 && offset < end) {
    const Character character = character_at(text, offset);
    const size_t width = units(character, encoding);
    if (width > left) return {offset, false};  // inside a surrogate pair
    left -= width;
    offset += character.bytes;
  }
  return {offset, left == 0};
}

}  // namespace

const char* name(PositionEncoding encoding) {
  switch (encoding) {
    case PositionEncoding::utf8:
      return "utf-8";
    case PositionEncoding::utf16:
      return "utf-16";
    case PositionEncoding::utf32:
      return "utf-32";
  }
  return "utf-16";
}

LineIndex::LineIndex(std::string_view text) : starts_{0} {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  if (text.find('\r') == std::string_view::npos) {
    for (const char* at = begin; at < end;) {
      at = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
      if (at == nullptr) break;
      starts_.push_back(static_cast<size_t>(++at - begin));
    }
    return;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    if (text[i] == '\n' || text[i] == '\r') starts_.push_back(i + 1);
  }
}

size_t LineIndex::line_of(size_t offset) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  return static_cast<size_t>(after - starts_.begin()) - 1;
}

size_t LineIndex::content_end(std::string_view text, size_t line) const {
  if (line + 1 >= starts_.size()) return text.size();
  size_t end = starts_[line + 1];
  if (end > starts_[line] && text[end - 1] == '\n') --end;
  if (end > starts_[line] && text[end - 1] == '\r') --end;
  return end;
}

size_t offset_of(std::string_view text, const LineIndex& lines, Position at,
                 PositionEncoding encoding) {
  return locate(text, lines, at, encoding).offset;
}

bool is_exact(std::string_view text, const LineIndex& lines, Position at,
              PositionEncoding encoding) {
  return locate(text, lines, at, encoding).exact;
}

Position position_of(std::string_view text, const LineIndex& lines, size_t offset,
                     PositionEncoding encoding) {
  const size_t line = lines.line_of(std::min(offset, text.size()));
  const size_t start = lines.start(line);
  const size_t end = lines.content_end(text, line);
  offset = offset >= end ? end : character_start(text, offset);
  size_t character = 0;
  if (encoding == PositionEncoding::utf8) {
    character = offset - start;
  } else {
    for (size_t i = start; i < offset;) {
      const Character at = character_at(text, i);
      character += units(at, encoding);
      i += at.bytes;
    }
  }
  return {static_cast<uint32_t>(line), static_cast<uint32_t>(character)};
}

Character character_at(std::string_view text, size_t at) {
  const unsigned char lead = byte_at(text, at);
  const Character bad{lead, 1, false};
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return bad;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (at + length > text.size()) return bad;
  char32_t value = lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    const unsigned char next = byte_at(text, at + i);
    if ((next & 0xC0) != 0x80) return bad;
    value = value << 6 | (next & 0x3F);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  if (overlong || (value >= 0xD800 && value <= 0xDFFF) || value > 0x10FFFF) return bad;
  return {value, static_cast<uint8_t>(length), true};
}

std::string to_lf(std::string_view text) {
  std::string lf;
  lf.reserve(text.size());
  while (true) {
    const size_t at = text.find('\r');
    lf.append(text.substr(0, at));
    if (at == std::string_view::npos) return lf;
    lf.push_back('\n');
    const bool pair = at + 1 < text.size() && text[at + 1] == '\n';
    text.remove_prefix(at + (pair ? 2 : 1));
  }
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    if (character.valid) {
      valid.append(text.substr(i, character.bytes));
    } else {
      valid.append("\xEF\xBF\xBD");
    }
    i += character.bytes;
  }
  return valid;
}

bool is_valid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    if (!character.valid) return false;
    i += character.bytes;
  }
  return true;
}

}  // namespace foretoken::lsp

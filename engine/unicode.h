// UTF-8 decoding and the character classes that tokenizer split rules are written in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken::engine {

/// One character of a text that may hold any bytes. An invalid byte is a character of its own.
struct Character {
  uint32_t code = 0xFFFD;  // U+FFFD for an invalid byte
  uint32_t bytes = 1;
  bool valid = false;
};

/// The character at `at` (< text.size()). Overlong forms, surrogates and values past U+10FFFF are
/// invalid, as is every byte of a sequence that `text` cuts short.
Character decode_utf8(std::string_view text, size_t at);

/// Appends `code` (a valid code point) to `out`.
void append_utf8(std::string& out, uint32_t code);

/// Length of a sequence at the end of `text` that more bytes could complete; 0 where there is none.
size_t incomplete_utf8_tail(std::string_view text);

/// Bits of a character's class. Every character has at least one.
enum : uint16_t {
  kLetter = 1,       // \p{L}
  kNumber = 2,       // \p{N}
  kSpace = 4,        // \s: White_Space
  kNewline = 8,      // \r and \n
  kMark = 16,        // \p{M}
  kPunct = 32,       // \p{P}
  kSymbol = 64,      // \p{S}
  kUpperLike = 128,  // Lu Lt Lm Lo M
  kLowerLike = 256,  // Ll Lm Lo M
  kOther = 512,      // control, format, unassigned, private use
  kFormat = 1024,    // Cc, Cf, Zl, Zp: moves text about when printed
};

uint16_t unicode_class(uint32_t code);  // any code point

constexpr uint16_t ascii_class(unsigned char c) {
  if (c >= 'a' && c <= 'z') return kLetter | kLowerLike;
  if (c >= 'A' && c <= 'Z') return kLetter | kUpperLike;
  if (c >= '0' && c <= '9') return kNumber;
  if (c == '\r' || c == '\n') return kSpace | kNewline | kFormat;
  if (c == ' ') return kSpace;
  if (c >= '\t' && c <= '\f') return kSpace | kFormat;
  if (c < 0x20 || c >= 0x7F) return kOther | kFormat;
  for (char s : {'$', '+', '<', '=', '>', '^', '`', '|', '~'}) {
    if (c == s) return kSymbol;
  }
  return kPunct;
}

inline constexpr auto kAsciiClass = [] {
  std::array<uint16_t, 128> table{};
  for (size_t c = 0; c < table.size(); ++c) table[c] = ascii_class(static_cast<unsigned char>(c));
  return table;
}();

}  // namespace foretoken::engine

#include "engine/error.h"

#include <cstdio>

#include "engine/unicode.h"

namespace foretoken::engine {

std::string printable(std::string_view text, size_t limit) {
  constexpr std::string_view kMore = "...";
  std::string out;
  size_t cut = 0;  // where `out` would be cut to leave room for the dots
  for (size_t at = 0; at < text.size();) {
    const Character c = decode_utf8(text, at);
    char escaped[16] = "";
    if (!c.valid || c.code < 0x20 || c.code == 0x7F) {
      std::snprintf(escaped, sizeof escaped, "\\x%02X", static_cast<unsigned char>(text[at]));
    } else if (unicode_class(c.code) & kFormat) {
      std::snprintf(escaped, sizeof escaped, "\\u{%X}", c.code);
    }
    if (escaped[0] != '\0') {
      out += escaped;
    } else {
      out += text.substr(at, c.bytes);
    }
    at += c.bytes;
    if (out.size() + kMore.size() <= limit) cut = out.size();
    if (out.size() > limit) {
      out.resize(cut);
      return out += kMore.substr(0, limit);
    }
  }
  return out;
}

}  // namespace foretoken::engine

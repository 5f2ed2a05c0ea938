#include "engine/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "engine/unicode.h"

namespace foretoken::engine {

namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr auto kByteOf = [] {  // of each character below U+0144; -1: none
  std::array<int16_t, 256 + 68> table{};
  table.fill(-1);
  size_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    table[stands_for_itself(byte) ? size_t(byte) : next++] = static_cast<int16_t>(byte);
  }
  return table;
}();

}  // namespace

bool append_spelt_bytes(std::string_view spelling, std::string& out) {
  const size_t before = out.size();
  for (size_t at = 0; at < spelling.size();) {
    const Character c = decode_utf8(spelling, at);
    const int byte = c.valid && c.code < kByteOf.size() ? kByteOf[c.code] : -1;
    if (byte < 0) {
      out.resize(before);
      return false;
    }
    out += static_cast<char>(byte);
    at += c.bytes;
  }
  return true;
}

}  // namespace foretoken::engine

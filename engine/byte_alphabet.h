// GPT-2's alphabet: how tokenizer files write arbitrary bytes as printable characters. Bytes that
// are printable in Latin-1 stand for themselves, the other 68 are U+0100, U+0101, … in order.
#pragma once

#include <string>
#include <string_view>

namespace foretoken::engine {

/// Appends the bytes that `spelling` stands for. False (and nothing appended) where a character is
/// not of the alphabet.
bool append_spelt_bytes(std::string_view spelling, std::string& out);

}  // namespace foretoken::engine

// A script of keys: how a person with an ordinary editor would type what stands in a file. A region of
// whole lines is taken out and typed again; the editor closes brackets and quotes, indents after a
// line break, and lets a closer be typed over. Pure: the same text, phase and seed give the same keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::lsp {

enum class KeyKind : uint8_t {
  character,
  auto_closed,  // an opener, and the closer that the editor adds right of the cursor
  typed_over,   // a closer that the editor had added: the cursor steps over it
  backspace,
  line_break,   // with the indentation that the editor adds
  accept,       // the rest of the line at once, as a suggestion that is accepted
  switch_file,  // the cursor goes to the other document
};
const char* name(KeyKind kind);  // "character", …
inline constexpr std::array kKeyKinds = {KeyKind::character,  KeyKind::auto_closed, KeyKind::typed_over,
                                         KeyKind::backspace,  KeyKind::line_break,  KeyKind::accept,
                                         KeyKind::switch_file};

/// What a script dwells on.
enum class Phase : uint8_t {
  steady,       // 150 ms between keys in the mean, log-normal
  bursts,       // 4 to 12 keys 30 ms apart, then a pause
  backspaces,   // steady, with wrong letters that are taken back
  line_breaks,  // lines of a few keys: the rest of each is accepted
  two_files,    // steady, by turns in two documents
  accept,       // steady, half lines accepted
};
const char* name(Phase phase);
inline constexpr std::array kPhases = {Phase::steady,      Phase::bursts,    Phase::backspaces,
                                       Phase::line_breaks, Phase::two_files, Phase::accept};

/// A document and the bytes of it to take out and type again: whole lines, without the last line end.
struct TypedRegion {
  std::string text;
  size_t begin = 0, end = 0;
};

/// Some twenty lines from about `where` (0 to 1) of the text on, and as many more as `keys` need.
TypedRegion choose_region(std::string text, double where, size_t keys);

/// One key: an edit of a document and where the cursor stands then. Bytes.
struct Key {
  double at_ms = 0;  // when it is meant to be struck, from the start of the script
  size_t document = 0;
  KeyKind kind = KeyKind::character;
  size_t start = 0, erased = 0;
  std::string inserted;
  size_t cursor = 0;
};

struct TypingScript {
  std::vector<std::string> texts;  // the documents without their regions
  std::vector<size_t> cursors;
  std::vector<Key> keys;
};

/// At most `most_keys`; with enough of them every document ends as the text it came from.
TypingScript make_typing_script(const std::vector<TypedRegion>& regions, Phase phase, uint64_t seed,
                                size_t most_keys);

}  // namespace foretoken::lsp

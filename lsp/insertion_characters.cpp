// Characters that a completion must not bring: control characters, marks that reorder or hide text,
// broken UTF-8, and what belongs to another kind of document.
#include <algorithm>

#include "lsp/insertion_rules.h"
#include "lsp/text.h"

namespace foretoken::lsp::rules {
namespace {

bool is_control(char32_t c) {
  return (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7F && c <= 0x9F);
}

// Seen by the compiler, not by the reader.
bool is_hidden(char32_t c) {
  return c == 0x00AD || c == 0x061C || c == 0x180E || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE0FFF);
}

// Zero-width joiners make emoji and some scripts what they are.
bool is_joiner(char32_t c) {
  return c == 0x200C || c == 0x200D;
}

constexpr std::string_view kForeign[] = {
    "<|endoftext|>", "<|fim_",     "<|file_sep|>", "<|repo_name|>", "<fim_",
    "<|im_start|>",  "<|im_end|>", "<file_sep>",   "<|cursor|>",    "```"};

}  // namespace

void clean_characters(const Place& place, Draft& draft) {
  std::string text = to_lf(draft.text);
  for (const std::string_view mark : kForeign) {
    const size_t at = text.find(mark);
    if (at == std::string::npos) continue;
    const bool at_home = place.before.find(mark) != std::string_view::npos ||
                         place.after.find(mark) != std::string_view::npos;
    if (at_home || (mark == "```" && at > 0 && text[at - 1] != '\n')) continue;
    text.resize(at);
    if (engine::is_blank(text)) draft.reason = "foreign text";
  }
  const std::string line = std::string(place.around.left) + std::string(place.around.rest);
  draft.text.clear();
  bool wide_before = false;  // the character before is not ASCII
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    const std::string_view bytes = std::string_view(text).substr(i, character.bytes);
    i += character.bytes;
    if (!character.valid) {
      const bool torn_end = text.size() - i < 3 && draft.text.size() > 0 && [&] {
        for (size_t k = i; k < text.size(); ++k) {
          if ((text[k] & 0xC0) != 0x80) return false;
        }
        return static_cast<unsigned char>(bytes[0]) >= 0xC2;
      }();
      if (torn_end) break;  // a token may end inside a character
      draft.reason = "invalid characters";
      return;
    }
    const bool known = line.find(bytes) != std::string::npos;
    if (is_control(character.value) && !known) {
      draft.reason = "control characters";
      return;
    }
    const bool joins = is_joiner(character.value) && wide_before && i < text.size() &&
                       static_cast<unsigned char>(text[i]) >= 0x80;
    if (is_hidden(character.value) && !known && !joins) continue;
    wide_before = character.bytes > 1;
    draft.text.append(bytes);
  }
}

}  // namespace foretoken::lsp::rules

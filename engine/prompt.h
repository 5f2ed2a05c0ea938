// Lays out the tokens of one request: which control token stands where, in the order of the model's
// family. Pure: a function of its arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/completion.h"
#include "engine/fim.h"
#include "engine/layout.h"
#include "engine/tokenizer.h"

namespace foretoken::engine {

/// A stretch of the prompt with one origin.
struct PromptPart {
  std::string_view kind;  // "header", "prefix", "suffix", "middle", "context", "structure" (control tokens)
  int begin = 0, end = 0; // token indices
  int item = -1;          // of the context, which one
};

struct Prompt {
  std::vector<TokenId> ids;
  std::vector<PromptPart> parts;
};

/// Where a prompt ends: before the suffix (prefix-suffix-middle only), or as the model is asked.
enum class PromptUpTo : uint8_t { prefix, middle };

/// `middle` is the part of layout.middle that stays in the prompt (healing took off the rest).
/// `path` names the file to the model; empty: no header.
Prompt make_prompt(const Tokenizer& tokenizer, const Fim& fim, std::string_view path,
                   const Layout& layout, std::string_view middle,
                   PromptUpTo up_to = PromptUpTo::middle);

/// The prompt as text, control tokens spelt out.
std::string prompt_text(const Tokenizer& tokenizer, const Prompt& prompt);

/// Card rows for the parts, `reused` tokens from the front counted as reused. `text` is the document
/// the layout was made for.
std::vector<CardRow> make_card(const Prompt& prompt, std::string_view path, const Layout& layout,
                               std::string_view middle, std::string_view text, int reused);

}  // namespace foretoken::engine

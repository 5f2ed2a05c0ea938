// Split rules: how a text is cut into pieces before byte-pair merging. Models name their rules in
// tokenizer.ggml.pre; each is a list of regular expressions, written here as scanners that run in
// linear time. Source of the rules: llama.cpp src/llama-vocab.cpp and the models' tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace foretoken::engine {

enum class SplitRules : uint8_t {
  gpt2,
  digits_gpt2,
  llama3,
  qwen2,
  seed_coder,
  qwen35,
  tekken,
  gpt4o,
  deepseek_coder,
  deepseek_llm,
  deepseek_v3,
  falcon,
  standard,
};

struct Pretokenizer {  // a row of the table of known names
  std::string_view name;
  SplitRules rules;
  bool whole_pieces = false;  // a piece that is a token is that token ("ignore_merges")
  bool add_bos = false;       // unless the file says otherwise
};

/// Null where the name is not known.
const Pretokenizer* find_pretokenizer(std::string_view name);

/// Every known name.
std::vector<std::string_view> pretokenizer_names();

/// Appends to `ends` where each piece of `text` ends, plus `base`. Pieces are never empty and cover
/// the text.
void split_text(SplitRules rules, std::string_view text, size_t base, std::vector<size_t>& ends);

}  // namespace foretoken::engine

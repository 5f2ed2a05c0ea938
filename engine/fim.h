// Fill-in-the-middle families: which control tokens surround prefix, suffix and middle, in what
// order, and which tokens end a completion.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer.h"

namespace foretoken::engine {

class GgufFile;

enum class FimOrder : uint8_t {
  none,                  // left to right only
  prefix_suffix_middle,  // <PRE> P <SUF> S <MID> T
  suffix_prefix_middle,  // <SUF> S <PRE> P <MID> (Mellum, Seed-Coder) or without <MID> (Codestral)
};

/// How a model is asked to fill in. Immutable value.
struct Fim {
  FimOrder order = FimOrder::none;
  std::string family;    // "qwen2.5-coder", "starcoder2", …; "none"
  std::string found_by;  // "metadata keys", "token texts", "model name", "none": for `model info`
  std::optional<TokenId> prefix, suffix, middle, pad;

  /// Multi-file prompt: how a file in front of the current one is introduced.
  enum class Files : uint8_t {
    none,            // no known form: path as nothing
    separator,       // [repo token, name, "\n"] then per file: separator token, path, "\n", text
    filename_token,  // filename token, path, "\n", text (StarCoder 1, Mellum, Granite)
    hash_comment,    // "#" path "\n" text (DeepSeek)
  } files = Files::none;
  std::optional<TokenId> repo, file_separator;
  bool path_after_prefix = false;  // StarCoder2: <file_sep><fim_prefix>path\nP
  std::optional<TokenId> bos;      // first token of every prompt, where the model wants one

  std::vector<TokenId> stops;  // sorted; end a completion
  // Bit set, id % 8 of byte id / 8: never generated (control, unused, padding, empty; not the
  // stops).
  std::vector<uint8_t> banned;

  bool is_stop(TokenId id) const;
  bool is_banned(TokenId id) const;  // also of ids past the vocabulary
};

/// Looks at metadata keys, else at token texts in a fixed order, else at the model's name.
Fim detect_fim(const GgufFile& file, const Tokenizer& tokenizer);

}  // namespace foretoken::engine

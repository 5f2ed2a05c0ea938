// Small models with the control tokens of one family or another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/fim.h"
#include "engine/gguf.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/temporary_file.h"

namespace foretoken::engine {

inline const std::string kGgml = "tokenizer.ggml.";
constexpr TokenId kFirst = test::kByteVocabularyControl;  // of the extra tokens

/// The byte vocabulary with `extra` in place of Qwen's control tokens and of the padding.
inline test::GgufBuilder vocabulary(const std::vector<std::string>& extra, int32_t type = 3) {
  test::GgufBuilder b = test::tiny_llama();
  std::vector<std::string> tokens = test::byte_vocabulary_tokens();
  tokens.resize(size_t(kFirst));
  std::vector<int32_t> types(tokens.size(), 1);
  for (const std::string& text : extra) {
    tokens.push_back(text);
    types.push_back(type);
  }
  b.set_strings(kGgml + "tokens", tokens).set_i32s(kGgml + "token_type", types);
  b.set_u32(kGgml + "eos_token_id", kFirst).remove(kGgml + "bos_token_id");
  b.remove(kGgml + "add_bos_token").remove("general.name");
  return b;
}

struct Detected {
  explicit Detected(const test::GgufBuilder& b)
      : bytes(b.bytes()), file(bytes.path()), tokenizer(file), fim(detect_fim(file, tokenizer)) {}
  std::string text(std::optional<TokenId> id) const {
    return id ? std::string(tokenizer.text(*id)) : "";
  }
  test::TemporaryFile bytes;
  GgufFile file;
  Tokenizer tokenizer;
  Fim fim;
};

}  // namespace foretoken::engine

// Text to token ids and back: byte-level BPE as GGUF files describe it (tokenizer.ggml.*).
// Source: llama.cpp src/llama-vocab.cpp for the split rules per `pre` value; GPT-2 paper for the
// byte alphabet.
//
// Text never becomes control tokens: encode() matches no CONTROL, UNKNOWN or FIM token whatever the
// text says. USER_DEFINED tokens (runs of blanks) do match, except those with a FIM role. Every byte
// string survives encode + text, invalid UTF-8 included.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::engine {

class GgufFile;
using TokenId = int32_t;

enum class TokenType : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

/// Immutable, thread-safe.
class Tokenizer {
 public:
  /// Throws ModelError naming the key at fault.
  explicit Tokenizer(const GgufFile& file);
  ~Tokenizer();

  /// Appends nothing but the text's own tokens (no BOS).
  std::vector<TokenId> encode(std::string_view text) const;

  /// Byte offsets (exclusive ends) of the pieces the split rules cut `text` into. No token spans two.
  std::vector<size_t> piece_ends(std::string_view text) const;

  /// Exact bytes of a token (may be part of a UTF-8 sequence). Control tokens give their spelling.
  std::string_view text(TokenId id) const;
  std::string decode(std::span<const TokenId> ids) const;

  int size() const;
  TokenType type(TokenId id) const;
  std::optional<TokenId> find(std::string_view token_text) const;  // exact token text, any type

  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;
  std::optional<TokenId> eot() const;
  bool add_bos() const;
  std::string_view pre() const;          // the split rules in use

  /// Ids whose text begins with, or is a (non-empty) beginning of, `bytes`; normal, byte and
  /// user-defined tokens only, in id order. Never empty for non-empty `bytes`: single-byte tokens exist.
  std::vector<TokenId> compatible(std::string_view bytes) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// Emits only whole UTF-8 characters: holds back a trailing incomplete sequence.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  std::string push(TokenId id);   // the bytes that became complete
  std::string flush();            // what is held back, as it is

 private:
  const Tokenizer& tokenizer_;
  std::string held_;
};

}  // namespace foretoken::engine

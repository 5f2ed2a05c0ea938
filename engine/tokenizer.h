// Text to token ids and back: byte-level BPE as GGUF files describe it (tokenizer.ggml.*).
// Source: llama.cpp src/llama-vocab.cpp for the split rules per `pre` value; GPT-2 paper for the
// byte alphabet.
//
// Text never becomes control tokens: encode() matches no CONTROL, UNKNOWN, UNUSED or FIM token
// whatever the text says. USER_DEFINED tokens (runs of blanks) do match, the longest at each place,
// except those with a FIM role or a control token's spelling, which count as CONTROL; [PAD<id>]
// counts as UNUSED. Every byte string survives encode + text, invalid UTF-8 included, as far as the
// vocabulary has a token for each of its bytes: printable ASCII, line end and tab must be there, or
// the file is refused; other bytes may be missing (SmolLM2 has no 0x04, StarCoder no 0xF1) and are
// left out.
//
// Tolerated in a file: tokens that are empty or appear twice (the lower id is used), merges of
// strings that are no tokens, special ids past the vocabulary or negative (as if absent), no
// token_type (all normal, but for control spellings). Without a key, bos and eos are 11 only where
// token 11 is a control token.
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

enum class TokenType : uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

/// Immutable, thread-safe.
class Tokenizer {
 public:
  /// Throws ModelError naming the key at fault.
  explicit Tokenizer(const GgufFile& file);
  ~Tokenizer();

  /// Appends nothing but the text's own tokens (no BOS).
  std::vector<TokenId> encode(std::string_view text) const;

  /// Byte offsets (exclusive ends) of the pieces the split rules cut `text` into. No token spans
  /// two.
  std::vector<size_t> piece_ends(std::string_view text) const;

  /// Exact bytes of a token (may be part of a UTF-8 sequence). Control tokens give their spelling.
  std::string_view text(TokenId id) const;
  std::string decode(std::span<const TokenId> ids) const;

  int size() const;
  TokenType type(TokenId id) const;
  /// The token of any type whose text() is exactly this; of several the lowest.
  std::optional<TokenId> find(std::string_view token_text) const;

  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;
  std::optional<TokenId> eot() const;
  bool add_bos() const;
  std::string_view pre() const;  // the split rules in use

  /// Ids whose text begins with, or is a (non-empty) beginning of, `bytes`; normal, byte and
  /// user-defined tokens only, in id order. Empty only where `bytes` is, or where the vocabulary
  /// lacks its first byte.
  std::vector<TokenId> compatible(std::string_view bytes) const;

  /// For each place in `bytes` (and its end: 0) the fewest tokens whose texts together begin with
  /// all that follows it; the last one may go further. -1 where no tokens do.
  std::vector<int> fewest_tokens(std::string_view bytes) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// Emits only whole UTF-8 characters: holds back a trailing incomplete sequence.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  std::string push(TokenId id);  // the bytes that became complete
  std::string flush();           // what is held back, as it is

 private:
  const Tokenizer& tokenizer_;
  std::string held_;
};

}  // namespace foretoken::engine

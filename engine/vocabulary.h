// The tokenizer.ggml.* part of a model file, checked: what each token says and what it is for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/pretokenizer.h"
#include "engine/tokenizer.h"

namespace foretoken::engine {

class Bpe;

/// Immutable once read.
class Vocabulary {
 public:
  static constexpr uint64_t kMostTokens = 1u << 20;

  /// Throws ModelError naming the key at fault.
  explicit Vocabulary(const GgufFile& file);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  int size() const { return static_cast<int>(texts.size()); }
  /// Whether text may become this token, and generated text contain it.
  bool is_text(TokenId id) const {
    const TokenType t = types[size_t(id)];
    return t == TokenType::normal || t == TokenType::byte || t == TokenType::user_defined;
  }

  std::vector<std::string_view> texts;  // exact bytes; views into bytes_
  std::vector<TokenType> types;         // what they are used as, which may differ from the file
  Pretokenizer pretokenizer;
  std::optional<TokenId> bos, eos, eot;
  bool add_bos = false;

  /// The merges, checked, into `bpe`, after the tokens.
  void fill(const GgufFile& file, Bpe& bpe) const;

 private:
  void read_texts(const GgufFile& file);
  void read_types(const GgufFile& file);
  void read_special_ids(const GgufFile& file);
  void assign_uses();

  std::string bytes_;
  std::vector<bool> spelt_;  // in the byte alphabet: merging can reach these
};

}  // namespace foretoken::engine

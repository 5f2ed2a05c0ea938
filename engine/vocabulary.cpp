#include "engine/vocabulary.h"

#include <cstring>
#include <set>

#include "engine/bpe.h"
#include "engine/byte_alphabet.h"
#include "engine/control_tokens.h"
#include "engine/gguf.h"

namespace foretoken::engine {

namespace {

constexpr uint32_t kGgufU32 = 4, kGgufI32 = 5, kGgufF32 = 6, kGgufString = 8;

constexpr std::string_view kFimKeys[] = {
    "tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.fim_suf_token_id",
    "tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.fim_pad_token_id",
    "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id",
    "tokenizer.ggml.prefix_token_id",  "tokenizer.ggml.suffix_token_id",
    "tokenizer.ggml.middle_token_id"};

std::string token_name(size_t id, std::string_view text) {
  return "token " + std::to_string(id) + " '" + printable(text, 40) + "'";
}

[[noreturn]] void fail_key(const GgufFile& file, const std::string& what, std::string_view key) {
  file.fail(what + " (field " + std::string(key) + ")");
}

/// The byte of a token spelt <0xHH>; -1 where it is spelt otherwise.
int byte_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  int byte = 0;
  for (const char c : text.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    byte = byte * 16 + digit;
  }
  return byte;
}

/// [PAD123] as the text of token 123: a row that was never trained.
bool is_padding(size_t id, std::string_view text) {
  return text.starts_with("[PAD") && text == "[PAD" + std::to_string(id) + "]";
}

}  // namespace

Vocabulary::Vocabulary(const GgufFile& file) {
  const auto model = file.string("tokenizer.ggml.model");
  if (!model)
    fail_key(file, "the file holds no tokenizer; choose another model", "tokenizer.ggml.model");
  if (*model == "llama") {
    fail_key(file,
             "tokenizer 'llama' (SentencePiece) is not supported yet; choose a model with a "
             "byte-level tokenizer",
             "tokenizer.ggml.model");
  }
  if (*model != "gpt2") {
    fail_key(file,
             "tokenizer '" + printable(*model) +
                 "' is not supported; choose a model with a "
                 "byte-level tokenizer ('gpt2')",
             "tokenizer.ggml.model");
  }
  const std::string_view pre = file.string("tokenizer.ggml.pre").value_or("default");
  const Pretokenizer* known = find_pretokenizer(pre);
  if (known == nullptr) {
    fail_key(file, "the split rules '" + printable(pre) + "' are not known; choose another model",
             "tokenizer.ggml.pre");
  }
  pretokenizer = *known;
  read_texts(file);
  read_types(file);
  read_special_ids(file);
  assign_uses();
}

void Vocabulary::read_texts(const GgufFile& file) {
  constexpr std::string_view kKey = "tokenizer.ggml.tokens";
  const GgufArray* tokens = file.array(kKey, kGgufString);
  if (tokens == nullptr) fail_key(file, "the tokens are missing", kKey);
  if (tokens->count == 0) fail_key(file, "there are no tokens", kKey);
  if (tokens->count > kMostTokens) {
    fail_key(file,
             std::to_string(tokens->count) + " tokens are more than the limit of " +
                 std::to_string(kMostTokens),
             kKey);
  }
  size_t bytes = 0;
  for (const std::string_view text : tokens->strings) bytes += text.size();
  bytes_.reserve(bytes);  // decoding never makes a text longer, so the views below stay valid
  texts = tokens->strings;
  types.assign(texts.size(), TokenType::normal);
}

void Vocabulary::read_types(const GgufFile& file) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  constexpr std::string_view kScores = "tokenizer.ggml.scores";
  if (const GgufArray* scores = file.array(kScores, kGgufF32)) {  // byte-level merging needs none
    if (scores->count != texts.size()) {
      fail_key(
          file,
          std::to_string(scores->count) + " scores for " + std::to_string(texts.size()) + " tokens",
          kScores);
    }
  }
  const GgufValue* value = file.find(kKey);
  if (value == nullptr) {
    for (size_t id = 0; id < texts.size(); ++id) {
      if (looks_like_control(texts[id])) types[id] = TokenType::control;
    }
    return;
  }
  const auto* stored = std::get_if<GgufArray>(value);
  const bool is_unsigned = stored != nullptr && stored->type == kGgufU32;
  const GgufArray* array = file.array(kKey, is_unsigned ? kGgufU32 : kGgufI32);
  if (array->count != texts.size()) {
    fail_key(file,
             std::to_string(array->count) + " token types for " + std::to_string(texts.size()) +
                 " tokens",
             kKey);
  }
  for (size_t id = 0; id < texts.size(); ++id) {
    uint32_t type;
    std::memcpy(&type, array->raw.data() + id * sizeof type, sizeof type);
    if (type > uint32_t(TokenType::byte)) {
      fail_key(file, token_name(id, texts[id]) + " has the unknown type " + std::to_string(type),
               kKey);
    }
    types[id] = type == 0 ? TokenType::normal : static_cast<TokenType>(type);
  }
}

void Vocabulary::read_special_ids(const GgufFile& file) {
  // An id past the vocabulary names no token: as if the key were absent, as llama.cpp does.
  const auto id_of = [&](std::string_view key) -> std::optional<TokenId> {
    const GgufValue* value = file.find(key);
    if (value != nullptr && std::holds_alternative<int64_t>(*value) &&
        std::get<int64_t>(*value) < 0) {
      return std::nullopt;  // -1: "none" in the files of some converters
    }
    const auto id = file.integer(key);
    return id && *id < texts.size() ? std::optional(static_cast<TokenId>(*id)) : std::nullopt;
  };
  // Byte-level models that name neither have both at 11 by convention; only where that is no text.
  const auto convention = [&](std::string_view key) -> std::optional<TokenId> {
    constexpr TokenId kDefault = 11;
    if (file.find(key) != nullptr || texts.size() <= size_t(kDefault)) return std::nullopt;
    return types[size_t(kDefault)] == TokenType::control ? std::optional(kDefault) : std::nullopt;
  };
  bos = id_of("tokenizer.ggml.bos_token_id");
  if (!bos) bos = convention("tokenizer.ggml.bos_token_id");
  eos = id_of("tokenizer.ggml.eos_token_id");
  if (!eos) eos = convention("tokenizer.ggml.eos_token_id");
  eot = id_of("tokenizer.ggml.eot_token_id");
  for (const char* key : {"tokenizer.ggml.eom_token_id", "tokenizer.ggml.unknown_token_id",
                          "tokenizer.ggml.padding_token_id", "tokenizer.ggml.seperator_token_id",
                          "tokenizer.ggml.mask_token_id"}) {
    id_of(key);  // a value of another type is a fault, used or not
  }
  add_bos = file.boolean("tokenizer.ggml.add_bos_token").value_or(pretokenizer.add_bos) && bos;
  // Tokens that mark the parts of a prompt never come from text.
  for (const std::string_view key : kFimKeys) {
    const auto id = id_of(key);
    if (!id) continue;
    const std::string_view text = texts[size_t(*id)];
    std::string spelt;
    const bool one_byte = append_spelt_bytes(text, spelt) && spelt.size() < 2;
    if (types[size_t(*id)] == TokenType::normal && one_byte) {
      fail_key(file, token_name(size_t(*id), text) + " is ordinary text, not a control token", key);
    }
    types[size_t(*id)] = TokenType::control;
  }
}

void Vocabulary::assign_uses() {
  spelt_.assign(texts.size(), false);
  for (size_t id = 0; id < texts.size(); ++id) {
    const std::string_view text = texts[id];
    TokenType& type = types[id];
    const ControlRole role = control_role(text);
    if (type == TokenType::user_defined) {
      if (is_padding(id, text)) {
        type = TokenType::unused;
      } else if (role != ControlRole::none || looks_like_control(text)) {
        type = TokenType::control;
      }
    } else if (type == TokenType::normal && role != ControlRole::none && role != ControlRole::end &&
               text.find("fim") != text.npos) {
      type = TokenType::control;  // no text of a program is spelt so
    }
    const size_t begin = bytes_.size();
    const int byte = type == TokenType::byte ? byte_token(text) : -1;
    if (byte >= 0) {
      bytes_ += static_cast<char>(byte);
      spelt_[id] = true;
    } else if ((type == TokenType::normal || type == TokenType::byte) &&
               append_spelt_bytes(text, bytes_)) {
      spelt_[id] = true;
    } else {
      bytes_ += text;
    }
    texts[id] = std::string_view(bytes_).substr(begin);
  }
}

void Vocabulary::fill(const GgufFile& file, Bpe& bpe) const {
  for (size_t id = 0; id < texts.size(); ++id) {
    if (spelt_[id] && !texts[id].empty()) bpe.add_token(texts[id], static_cast<TokenId>(id));
  }
  for (int byte = 0x20; byte < 0x7F; ++byte) {
    if (bpe.byte_id(static_cast<unsigned char>(byte)) < 0) {
      fail_key(file, std::string("no token is the character '") + static_cast<char>(byte) + "'",
               "tokenizer.ggml.tokens");
    }
  }
  for (const char c : {'\n', '\t'}) {
    if (bpe.byte_id(static_cast<unsigned char>(c)) < 0) {
      fail_key(file, std::string("no token is the ") + (c == '\n' ? "line end" : "tab"),
               "tokenizer.ggml.tokens");
    }
  }
  constexpr std::string_view kKey = "tokenizer.ggml.merges";
  const GgufArray* merges = file.array(kKey, kGgufString);
  if (merges == nullptr) fail_key(file, "the merges are missing", kKey);
  std::string left, right;
  for (size_t rank = 0; rank < merges->count; ++rank) {
    const std::string_view merge = merges->strings[rank];
    const size_t space = merge.find(' ', 1);
    if (space == merge.npos) {
      fail_key(file,
               "merge " + std::to_string(rank) + " '" + printable(merge, 40) + "' has no space",
               kKey);
    }
    left.clear();
    right.clear();
    // A merge of texts that no piece can contain is never used.
    if (!append_spelt_bytes(merge.substr(0, space), left)) continue;
    if (!append_spelt_bytes(merge.substr(space + 1), right)) continue;
    if (left.empty() || right.empty()) continue;
    bpe.add_merge(left, right, static_cast<uint32_t>(rank));
  }
  bpe.finish();
}

}  // namespace foretoken::engine

#include "engine/tokenizer.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/bpe.h"
#include "engine/gguf.h"
#include "engine/unicode.h"
#include "engine/vocabulary.h"

namespace foretoken::engine {

namespace {

/// The first eight bytes as a number that sorts as they do.
uint64_t leading_bytes(std::string_view text) {
  uint64_t key = 0;
  std::memcpy(&key, text.data(), std::min<size_t>(text.size(), 8));
  return __builtin_bswap64(key);
}

/// Ids sorted by text; equal texts by id. Finds all tokens with a text or with a beginning.
class TextIndex {
 public:
  /// Those of `texts` that `wanted(id)` holds for and that are not empty.
  template <typename Wanted>
  TextIndex(const std::vector<std::string_view>& texts, Wanted wanted) : texts_(texts) {
    std::vector<std::pair<uint64_t, TokenId>> order;
    order.reserve(texts.size());
    for (size_t id = 0; id < texts.size(); ++id) {
      if (texts[id].empty() || !wanted(static_cast<TokenId>(id))) continue;
      order.emplace_back(leading_bytes(texts[id]), static_cast<TokenId>(id));
    }
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      if (a.first != b.first) return a.first < b.first;
      const int c = text(a.second).compare(text(b.second));
      return c != 0 ? c < 0 : a.second < b.second;
    });
    ids_.reserve(order.size());
    for (const auto& [key, id] : order) ids_.push_back(id);
  }

  using Range = std::span<const TokenId>;
  Range all() const { return ids_; }

  /// The part of `range`, all of whose texts share `depth` bytes, whose next byte is `next`.
  Range narrow(Range range, size_t depth, char next) const {
    const auto wanted = static_cast<unsigned char>(next);
    const auto byte = [&](TokenId id) {
      return text(id).size() > depth ? int(static_cast<unsigned char>(text(id)[depth])) : -1;
    };
    const auto first = std::partition_point(range.begin(), range.end(),
                                            [&](TokenId id) { return byte(id) < wanted; });
    const auto last =
        std::partition_point(first, range.end(), [&](TokenId id) { return byte(id) == wanted; });
    return {first, last};
  }

  /// How many at the front of `range` have exactly `length` bytes (the shortest that it can hold).
  size_t exact(Range range, size_t length) const {
    const auto end = std::partition_point(range.begin(), range.end(),
                                          [&](TokenId id) { return text(id).size() <= length; });
    return static_cast<size_t>(end - range.begin());
  }

  std::string_view text(TokenId id) const { return texts_[static_cast<size_t>(id)]; }

 private:
  const std::vector<std::string_view>& texts_;
  std::vector<TokenId> ids_;
};

// Longer user-defined tokens are not looked for in text: keeps encode() linear.
constexpr size_t kLongestUserDefined = 256;

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(const GgufFile& file)
      : vocabulary(file),
        bpe(size_t(vocabulary.size()), merge_count(file), vocabulary.pretokenizer.whole_pieces),
        all(vocabulary.texts, [](TokenId) { return true; }),
        user_defined(vocabulary.texts, [this](TokenId id) {
          return vocabulary.types[size_t(id)] == TokenType::user_defined &&
                 vocabulary.texts[size_t(id)].size() <= kLongestUserDefined;
        }) {
    vocabulary.fill(file, bpe);
    for (const TokenId id : user_defined.all()) {
      const std::string_view text = user_defined.text(id);
      begins[static_cast<unsigned char>(text[0])] = true;
      if (text.size() > 1) continues[static_cast<unsigned char>(text[1])] = true;
      one_byte |= text.size() == 1;
    }
  }

  static size_t merge_count(const GgufFile& file) {
    const GgufArray* merges = file.array("tokenizer.ggml.merges", 8);
    return merges != nullptr ? merges->count : 0;
  }

  bool may_begin(std::string_view text, size_t at) const {
    if (!begins[static_cast<unsigned char>(text[at])]) return false;
    return one_byte ||
           (at + 1 < text.size() && continues[static_cast<unsigned char>(text[at + 1])]);
  }

  /// The longest user-defined token that stands at `at`; -1: none.
  TokenId user_defined_at(std::string_view text, size_t at) const {
    TokenId found = -1;
    TextIndex::Range range = user_defined.all();
    for (size_t depth = 0; at + depth < text.size() && !range.empty(); ++depth) {
      range = user_defined.narrow(range, depth, text[at + depth]);
      if (!range.empty() && user_defined.exact(range, depth + 1) > 0) found = range.front();
    }
    return found;
  }

  /// Calls plain(begin, end) for the stretches between user-defined tokens and token(id, end) for
  /// these.
  template <typename Plain, typename Token>
  void for_each_part(std::string_view text, Plain plain, Token token) const {
    size_t begin = 0;
    for (size_t at = 0; at < text.size() && !user_defined.all().empty();) {
      const TokenId id = may_begin(text, at) ? user_defined_at(text, at) : -1;
      if (id < 0) {
        ++at;
        continue;
      }
      if (begin < at) plain(begin, at);
      begin = at += user_defined.text(id).size();
      token(id, at);
    }
    if (begin < text.size()) plain(begin, text.size());
  }

  Vocabulary vocabulary;
  Bpe bpe;
  TextIndex all, user_defined;
  // First and second bytes of user-defined tokens: most places are passed over by these.
  bool begins[256] = {}, continues[256] = {}, one_byte = false;
};

Tokenizer::Tokenizer(const GgufFile& file) : impl_(std::make_unique<const Impl>(file)) {}
Tokenizer::~Tokenizer() = default;

std::vector<TokenId> Tokenizer::encode(std::string_view text) const {
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3 + 8);
  std::vector<size_t> ends;
  const auto plain = [&](size_t begin, size_t end) {
    ends.clear();
    split_text(impl_->vocabulary.pretokenizer.rules, text.substr(begin, end - begin), begin, ends);
    for (const size_t piece_end : ends) {
      impl_->bpe.merge(text.substr(begin, piece_end - begin), ids);
      begin = piece_end;
    }
  };
  impl_->for_each_part(text, plain, [&](TokenId id, size_t) { ids.push_back(id); });
  return ids;
}

std::vector<size_t> Tokenizer::piece_ends(std::string_view text) const {
  std::vector<size_t> ends;
  const auto plain = [&](size_t begin, size_t end) {
    split_text(impl_->vocabulary.pretokenizer.rules, text.substr(begin, end - begin), begin, ends);
  };
  impl_->for_each_part(text, plain, [&](TokenId, size_t end) { ends.push_back(end); });
  return ends;
}

std::string_view Tokenizer::text(TokenId id) const {
  return id >= 0 && id < size() ? impl_->all.text(id) : std::string_view();
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  for (const TokenId id : ids) text += this->text(id);
  return text;
}

int Tokenizer::size() const {
  return impl_->vocabulary.size();
}

TokenType Tokenizer::type(TokenId id) const {
  return id >= 0 && id < size() ? impl_->vocabulary.types[size_t(id)] : TokenType::unused;
}

std::optional<TokenId> Tokenizer::find(std::string_view token_text) const {
  TextIndex::Range range = impl_->all.all();
  for (size_t depth = 0; depth < token_text.size() && !range.empty(); ++depth) {
    range = impl_->all.narrow(range, depth, token_text[depth]);
  }
  if (token_text.empty() || range.empty()) return std::nullopt;
  return impl_->all.exact(range, token_text.size()) > 0 ? std::optional(range.front())
                                                        : std::nullopt;
}

std::optional<TokenId> Tokenizer::bos() const {
  return impl_->vocabulary.bos;
}
std::optional<TokenId> Tokenizer::eos() const {
  return impl_->vocabulary.eos;
}
std::optional<TokenId> Tokenizer::eot() const {
  return impl_->vocabulary.eot;
}
bool Tokenizer::add_bos() const {
  return impl_->vocabulary.add_bos;
}
std::string_view Tokenizer::pre() const {
  return impl_->vocabulary.pretokenizer.name;
}

std::vector<TokenId> Tokenizer::compatible(std::string_view bytes) const {
  std::vector<TokenId> beginnings;  // tokens that `bytes` begins with
  TextIndex::Range range = impl_->all.all();
  for (size_t depth = 0; depth < bytes.size() && !range.empty(); ++depth) {
    range = impl_->all.narrow(range, depth, bytes[depth]);
    if (depth + 1 == bytes.size()) break;
    const size_t exact = impl_->all.exact(range, depth + 1);
    beginnings.insert(beginnings.end(), range.begin(), range.begin() + ptrdiff_t(exact));
  }
  if (bytes.empty()) range = {};
  // Into id order by a bit set: the range may be most of the vocabulary.
  std::vector<uint64_t> chosen(size_t(size()) / 64 + 1);
  size_t count = 0;
  const auto choose = [&](TextIndex::Range ids) {
    for (const TokenId id : ids) {
      if (!impl_->vocabulary.is_text(id)) continue;
      chosen[size_t(id) / 64] |= uint64_t(1) << (id % 64);
      ++count;
    }
  };
  choose(beginnings);
  choose(range);
  std::vector<TokenId> ids;
  ids.reserve(count);
  for (size_t word = 0; word < chosen.size(); ++word) {
    for (uint64_t bits = chosen[word]; bits != 0; bits &= bits - 1) {
      ids.push_back(static_cast<TokenId>(word * 64 + size_t(__builtin_ctzll(bits))));
    }
  }
  return ids;
}

std::vector<int> Tokenizer::fewest_tokens(std::string_view bytes) const {
  std::vector<int> fewest(bytes.size() + 1, -1);
  fewest.back() = 0;
  const auto any_text = [this](TextIndex::Range ids) {
    return std::any_of(ids.begin(), ids.end(),
                       [this](TokenId id) { return impl_->vocabulary.is_text(id); });
  };
  for (size_t at = bytes.size(); at-- > 0;) {
    int& best = fewest[at];
    TextIndex::Range range = impl_->all.all();
    for (size_t depth = 0; at + depth < bytes.size() && !range.empty(); ++depth) {
      range = impl_->all.narrow(range, depth, bytes[at + depth]);
      const size_t next = at + depth + 1;
      const bool to_the_end = next == bytes.size();
      const size_t exact = to_the_end ? range.size() : impl_->all.exact(range, depth + 1);
      if (fewest[next] < 0 || (best >= 0 && fewest[next] + 1 >= best)) continue;
      if (any_text(range.first(exact))) best = fewest[next] + 1;
    }
  }
  return fewest;
}

std::string Detokenizer::push(TokenId id) {
  held_ += tokenizer_.text(id);
  const size_t whole = held_.size() - incomplete_utf8_tail(held_);
  std::string out = held_.substr(0, whole);
  held_.erase(0, whole);
  return out;
}

std::string Detokenizer::flush() {
  std::string out;
  out.swap(held_);
  return out;
}

}  // namespace foretoken::engine

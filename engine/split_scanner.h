// The regular expressions of the split rules, each as a function that says where its match at a
// position ends. Together with the driver in pretokenizer.cpp each runs in linear time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/unicode.h"

namespace foretoken::engine {

/// Immutable view of a text that ends where the current piece ends: nothing looks past that.
class SplitScanner {
 public:
  /// Where the match at `at` ends; `at` where there is none.
  using Match = size_t (*)(const SplitScanner& text, size_t at);

  struct Peek {
    uint32_t code;   // ~0 at the end
    uint32_t bytes;  // 0 at the end
    uint32_t kind;   // class bits; 0 at the end
  };

  /// The piece is text[begin, end of text).
  SplitScanner(std::string_view text, size_t begin) : text_(text), begin_(begin) {}

  Peek peek(size_t at) const {
    if (at >= text_.size()) return {~0u, 0, 0};
    const auto c = static_cast<unsigned char>(text_[at]);
    if (c < 0x80) return {c, 1, kAsciiClass[c]};
    const Character wide = decode_utf8(text_, at);
    return {wide.code, wide.bytes, unicode_class(wide.code)};
  }

  /// End of the run of characters from `at` on that have a bit of `wanted` and none of `refused`.
  size_t run(size_t at, uint32_t wanted, uint32_t refused = 0) const {
    for (;;) {
      const Peek c = peek(at);
      if ((c.kind & wanted) == 0 || (c.kind & refused) != 0) return at;
      at += c.bytes;
    }
  }

  size_t size() const { return text_.size(); }
  size_t begin() const { return begin_; }
  char byte(size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

 private:
  std::string_view text_;
  size_t begin_;
};

inline constexpr uint32_t kAnyClass = 0xFFFF;

// Whole splitters: the alternatives of one expression.
size_t match_gpt2(const SplitScanner& text, size_t at);
size_t match_llama3(const SplitScanner& text, size_t at);
size_t match_qwen2(const SplitScanner& text, size_t at);
size_t match_seed_coder(const SplitScanner& text, size_t at);
size_t match_qwen35(const SplitScanner& text, size_t at);
size_t match_tekken(const SplitScanner& text, size_t at);
size_t match_gpt4o(const SplitScanner& text, size_t at);
size_t match_deepseek_v3(const SplitScanner& text, size_t at);

// Single expressions that lists are made of.
size_t match_number(const SplitScanner& text, size_t at);              // \p{N}
size_t match_numbers(const SplitScanner& text, size_t at);             // \p{N}+
size_t match_three_numbers(const SplitScanner& text, size_t at);       // \p{N}{1,3}
size_t match_three_ascii_digits(const SplitScanner& text, size_t at);  // [0-9][0-9][0-9]
size_t match_newline(const SplitScanner& text, size_t at);             // [\r\n]
size_t match_blank_letters(const SplitScanner& text, size_t at);       // \s?\p{L}+
size_t match_blank_punctuation(const SplitScanner& text, size_t at);   // \s?\p{P}+
size_t match_trailing_blanks(const SplitScanner& text, size_t at);     // \s+$
size_t match_cjk(const SplitScanner& text, size_t at);       // DeepSeek's CJK and Hangul class, +
size_t match_cjk_kana(const SplitScanner& text, size_t at);  // [\u4E00-\u9FA5\u3040-\u30FF]+
size_t match_blank_deepseek_letters(const SplitScanner& text, size_t at);  // \s?[LETTERS]+
size_t match_blank_deepseek_signs(const SplitScanner& text, size_t at);    // \s?[!-/:-~...]+
size_t match_signs(const SplitScanner& text, size_t at);                   // [\p{P}$+<=>^~|]+
size_t match_signs_and_backtick(const SplitScanner& text, size_t at);      // the same and `

}  // namespace foretoken::engine

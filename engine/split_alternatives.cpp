// The expressions whose alternatives cover (nearly) every text, one function each (see
// split_scanner.h).
#include "engine/split_scanner.h"

namespace foretoken::engine {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// 's|'t|'re|'ve|'m|'ll|'d, in either case where `any_case`.
size_t contraction(const SplitScanner& text, size_t at, bool any_case) {
  if (text.byte(at) != '\'') return at;
  char a = text.byte(at + 1), b = text.byte(at + 2);
  if (any_case) {
    a = lower(a);
    b = lower(b);
  }
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
  const bool two = ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l');
  return two ? at + 3 : at;
}

/// \s+(?!\S)|\s+ : a run of blanks leaves its last one to a text that follows.
size_t blanks(const SplitScanner& text, size_t at) {
  size_t last = at, end = at;
  for (;;) {
    const auto c = text.peek(end);
    if ((c.kind & kSpace) == 0) break;
    last = end;
    end += c.bytes;
  }
  return end < text.size() && last > at ? last : end;
}

/// \s*[\r\n]+|\s+(?!\S)|\s+ : up to the last line end of the run, else as blanks().
size_t blanks_by_line(const SplitScanner& text, size_t at) {
  size_t last = at, end = at, line_end = at;
  for (;;) {
    const auto c = text.peek(end);
    if ((c.kind & kSpace) == 0) break;
    last = end;
    end += c.bytes;
    if (c.kind & kNewline) line_end = end;
  }
  if (line_end > at) return line_end;
  return end < text.size() && last > at ? last : end;
}

/// [^\r\n\p{L}\p{N}]?X+ with X the classes `letters`.
size_t word(const SplitScanner& text, size_t at, uint32_t letters) {
  const auto c = text.peek(at);
  if ((c.kind & (kNewline | kLetter | kNumber)) == 0) {
    const size_t next = at + c.bytes;
    const size_t end = text.run(next, letters);
    if (end > next) return end;
  }
  return text.run(at, letters);
}

size_t numbers(const SplitScanner& text, size_t at, int most) {
  for (int i = 0; i < most; ++i) {
    const auto c = text.peek(at);
    if ((c.kind & kNumber) == 0) break;
    at += c.bytes;
  }
  return at;
}

/// ` ?` and a run of characters outside the classes `not_these`; `at` where the run would be empty.
size_t signs(const SplitScanner& text, size_t at, uint32_t not_these) {
  const size_t from = text.byte(at) == ' ' ? at + 1 : at;
  const size_t end = text.run(from, kAnyClass, not_these);
  return end > from ? end : at;
}

size_t line_ends(const SplitScanner& text, size_t at, bool slashes) {
  for (;;) {
    const char c = text.byte(at);
    if (c != '\r' && c != '\n' && !(slashes && c == '/')) return at;
    ++at;
  }
}

struct Llama3Like {
  int numbers = 3;             // \p{N}{1,numbers}
  uint32_t letters = kLetter;  // a word's characters
  uint32_t not_signs = kSpace | kLetter | kNumber;
  bool signs_take_lines = true;  // [\r\n]* after signs
};

template <Llama3Like rules>
size_t match_like_llama3(const SplitScanner& text, size_t at) {
  const auto c = text.peek(at);
  if (c.code == '\'') {
    const size_t end = contraction(text, at, true);
    if (end > at) return end;
  }
  size_t end = word(text, at, rules.letters);
  if (end > at) return end;
  if (c.kind & kNumber) return numbers(text, at, rules.numbers);
  end = signs(text, at, rules.not_signs);
  if (end > at) return rules.signs_take_lines ? line_ends(text, end, false) : end;
  return blanks_by_line(text, at);
}

/// U*L+ from `at`, as a backtracking matcher finds it: L's run after the longest run of U, else up
/// to the last character of that run that is also an L.
size_t upper_then_lower(const SplitScanner& text, size_t at) {
  size_t upper = at, last_both = at;
  for (;;) {
    const auto c = text.peek(upper);
    if ((c.kind & kUpperLike) == 0) break;
    upper += c.bytes;
    if (c.kind & kLowerLike) last_both = upper;
  }
  const size_t end = text.run(upper, kLowerLike);
  return end > upper ? end : last_both;
}

/// U+L* from `at`.
size_t uppers_then_lower(const SplitScanner& text, size_t at) {
  const size_t upper = text.run(at, kUpperLike);
  return upper > at ? text.run(upper, kLowerLike) : at;
}

/// The two word alternatives of tekken and gpt-4o.
size_t cased_word(const SplitScanner& text, size_t at) {
  const auto c = text.peek(at);
  const bool prefix = (c.kind & (kNewline | kLetter | kNumber)) == 0;
  for (const auto alternative : {upper_then_lower, uppers_then_lower}) {
    if (prefix) {
      const size_t end = alternative(text, at + c.bytes);
      if (end > at + c.bytes) return end;
    }
    const size_t end = alternative(text, at);
    if (end > at) return end;
  }
  return at;
}

size_t match_cased(const SplitScanner& text, size_t at, int most_numbers, bool contractions) {
  size_t end = cased_word(text, at);
  if (end > at) return contractions ? contraction(text, end, true) : end;
  if (text.peek(at).kind & kNumber) return numbers(text, at, most_numbers);
  end = signs(text, at, kSpace | kLetter | kNumber);
  if (end > at) return line_ends(text, end, true);
  return blanks_by_line(text, at);
}

}  // namespace

size_t match_gpt2(const SplitScanner& text, size_t at) {
  const size_t apostrophe = contraction(text, at, false);
  if (apostrophe > at) return apostrophe;
  const size_t from = text.byte(at) == ' ' ? at + 1 : at;
  const auto c = text.peek(from);
  if (c.kind & kLetter) return text.run(from, kLetter);
  if (c.kind & kNumber) return text.run(from, kNumber);
  if (c.kind != 0 && (c.kind & kSpace) == 0) {
    return text.run(from, kAnyClass, kSpace | kLetter | kNumber);
  }
  return blanks(text, at);
}

size_t match_llama3(const SplitScanner& text, size_t at) {
  return match_like_llama3<Llama3Like{}>(text, at);
}

size_t match_qwen2(const SplitScanner& text, size_t at) {
  return match_like_llama3<Llama3Like{.numbers = 1}>(text, at);
}

size_t match_seed_coder(const SplitScanner& text, size_t at) {
  return match_like_llama3<Llama3Like{.numbers = 1, .signs_take_lines = false}>(text, at);
}

size_t match_qwen35(const SplitScanner& text, size_t at) {
  return match_like_llama3<Llama3Like{
      .numbers = 1, .letters = kLetter | kMark, .not_signs = kSpace | kLetter | kMark | kNumber}>(
      text, at);
}

size_t match_tekken(const SplitScanner& text, size_t at) {
  return match_cased(text, at, 1, false);
}

size_t match_gpt4o(const SplitScanner& text, size_t at) {
  return match_cased(text, at, 3, true);
}

size_t match_deepseek_v3(const SplitScanner& text, size_t at) {
  const auto c = text.peek(at);
  const size_t next = at + c.bytes;
  if (c.code < 0x80 && (c.kind & (kPunct | kSymbol))) {  // [!-/:-@[-`{-~][A-Za-z]+
    size_t end = next;
    while ((static_cast<unsigned char>(text.byte(end)) < 0x80) &&
           (kAsciiClass[static_cast<unsigned char>(text.byte(end))] & kLetter)) {
      ++end;
    }
    if (end > next) return end;
  }
  if ((c.kind & (kNewline | kLetter | kPunct | kSymbol)) ==
      0) {  // [^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
    const size_t end = text.run(next, kLetter | kMark);
    if (end > next) return end;
  }
  size_t end = text.run(at, kLetter | kMark);
  if (end > at) return end;
  const size_t from = c.code == ' ' ? next : at;  // ` ?[\p{P}\p{S}]+[\r\n]*`
  end = text.run(from, kPunct | kSymbol);
  if (end > from) return line_ends(text, end, false);
  return blanks_by_line(text, at);
}

}  // namespace foretoken::engine

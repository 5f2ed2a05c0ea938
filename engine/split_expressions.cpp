// Single expressions that the lists of split rules are made of (see split_scanner.h).
#include <algorithm>

#include "engine/split_scanner.h"

namespace foretoken::engine {

namespace {

struct Range {
  uint32_t first, last;
};

// DeepSeek LLM's class of letters, as its tokenizer.json spells it.
constexpr Range kDeepseekLetters[] = {
    {0x0041, 0x005A},   {0x0061, 0x007A},   {0x00B5, 0x00B5},   {0x00C0, 0x00D6},
    {0x00D8, 0x00F6},   {0x00F8, 0x01BA},   {0x01BC, 0x01BF},   {0x01C4, 0x0293},
    {0x0295, 0x02AF},   {0x0370, 0x0373},   {0x0376, 0x0376},   {0x0377, 0x0377},
    {0x037B, 0x037D},   {0x037F, 0x037F},   {0x0386, 0x0386},   {0x0388, 0x038A},
    {0x038C, 0x038C},   {0x038E, 0x03A1},   {0x03A3, 0x03F5},   {0x03F7, 0x0481},
    {0x048A, 0x052F},   {0x0531, 0x0556},   {0x10A0, 0x10C5},   {0x13A0, 0x13F5},
    {0x13F8, 0x13FD},   {0x1C90, 0x1CBA},   {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},
    {0x1D6B, 0x1D77},   {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},   {0x1F18, 0x1F1D},
    {0x1F20, 0x1F45},   {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},
    {0x1F5B, 0x1F5B},   {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},
    {0x1FB6, 0x1FBC},   {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},
    {0x1FD0, 0x1FD3},   {0x1FD6, 0x1FDB},   {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},
    {0x1FF6, 0x1FFC},   {0x2102, 0x2102},   {0x2107, 0x2107},   {0x210A, 0x2113},
    {0x2115, 0x2115},   {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},
    {0x2128, 0x2128},   {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},
    {0x213C, 0x213F},   {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2183},
    {0x2184, 0x2184},   {0x2C00, 0x2C7B},   {0x2C7E, 0x2CE4},   {0x2CEB, 0x2CEE},
    {0x2CF2, 0x2CF2},   {0x2CF3, 0x2CF3},   {0xA640, 0xA66D},   {0xA680, 0xA69B},
    {0xA722, 0xA76F},   {0xA771, 0xA787},   {0xA78B, 0xA78E},   {0xAB70, 0xABBF},
    {0xFB00, 0xFB06},   {0xFB13, 0xFB17},   {0xFF21, 0xFF3A},   {0xFF41, 0xFF5A},
    {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB}, {0x10C80, 0x10CB2},
    {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},
};
constexpr Range kDeepseekSigns[] = {{'!', '/'},       {':', '~'},       {0x2018, 0x201F},
                                    {0x3000, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E}};
constexpr Range kDeepseekCjk[] = {{0x0800, 0x9FA5}, {0xAC00, 0xD7FF}};
constexpr Range kCjkKana[] = {{0x3040, 0x30FF}, {0x4E00, 0x9FA5}};

/// A set of code points; the ASCII part as a table.
struct CharacterSet {
  constexpr explicit CharacterSet(std::span<const Range> r) : ranges(r) {
    for (uint32_t code = 0; code < 128; ++code) {
      for (const Range& range : r) ascii[code] |= range.first <= code && code <= range.last;
    }
  }

  bool has(uint32_t code) const {
    if (code < 128) return ascii[code];
    const auto it = std::lower_bound(ranges.begin(), ranges.end(), code,
                                     [](const Range& r, uint32_t c) { return r.last < c; });
    return it != ranges.end() && it->first <= code;
  }

  std::span<const Range> ranges;  // in order
  bool ascii[128] = {};
};
constexpr CharacterSet kDeepseekLetterSet{kDeepseekLetters}, kDeepseekSignSet{kDeepseekSigns},
    kDeepseekCjkSet{kDeepseekCjk}, kCjkKanaSet{kCjkKana};

size_t run_of(const SplitScanner& text, size_t at, const CharacterSet& set) {
  for (;;) {
    const auto c = text.peek(at);
    if (c.bytes == 0 || !set.has(c.code)) return at;
    at += c.bytes;
  }
}

/// \s?X+ where `run` gives the end of X's run: the blank is given back where no X follows it.
template <typename Run>
size_t after_blank(const SplitScanner& text, size_t at, Run run) {
  const auto c = text.peek(at);
  if (c.kind & kSpace) {
    const size_t next = at + c.bytes;
    const size_t end = run(next);
    if (end > next) return end;
  }
  return run(at);
}

size_t run_of_signs(const SplitScanner& text, size_t at, std::string_view also) {
  for (;;) {
    const auto c = text.peek(at);
    const bool sign = (c.kind & kPunct) != 0 ||
                      (c.code < 0x80 && also.find(static_cast<char>(c.code)) != also.npos);
    if (!sign) return at;
    at += c.bytes;
  }
}

bool after_a_blank(const SplitScanner& text, size_t at) {
  if (at == text.begin()) return false;
  size_t before = at - 1;
  while (before > text.begin() && (text.byte(before) & 0xC0) == 0x80) --before;
  const auto c = text.peek(before);
  return before + c.bytes == at && (c.kind & kSpace) != 0;
}

}  // namespace

size_t match_number(const SplitScanner& text, size_t at) {
  const auto c = text.peek(at);
  return c.kind & kNumber ? at + c.bytes : at;
}

size_t match_numbers(const SplitScanner& text, size_t at) {
  return text.run(at, kNumber);
}

size_t match_three_numbers(const SplitScanner& text, size_t at) {
  for (int i = 0; i < 3; ++i) at = match_number(text, at);
  return at;
}

size_t match_three_ascii_digits(const SplitScanner& text, size_t at) {
  for (size_t i = 0; i < 3; ++i) {
    const char c = text.byte(at + i);
    if (c < '0' || c > '9') return at;
  }
  return at + 3;
}

size_t match_newline(const SplitScanner& text, size_t at) {
  return text.peek(at).kind & kNewline ? at + 1 : at;
}

size_t match_blank_letters(const SplitScanner& text, size_t at) {
  return after_blank(text, at, [&](size_t from) { return text.run(from, kLetter); });
}

size_t match_blank_punctuation(const SplitScanner& text, size_t at) {
  return after_blank(text, at, [&](size_t from) { return text.run(from, kPunct); });
}

size_t match_trailing_blanks(const SplitScanner& text, size_t at) {
  if (after_a_blank(text, at)) return at;  // the run was tried from its beginning: stay linear
  const size_t end = text.run(at, kSpace);
  return end == text.size() ? end : at;
}

size_t match_cjk(const SplitScanner& text, size_t at) {
  return run_of(text, at, kDeepseekCjkSet);
}

size_t match_cjk_kana(const SplitScanner& text, size_t at) {
  return run_of(text, at, kCjkKanaSet);
}

size_t match_blank_deepseek_letters(const SplitScanner& text, size_t at) {
  return after_blank(text, at, [&](size_t from) { return run_of(text, from, kDeepseekLetterSet); });
}

size_t match_blank_deepseek_signs(const SplitScanner& text, size_t at) {
  return after_blank(text, at, [&](size_t from) { return run_of(text, from, kDeepseekSignSet); });
}

size_t match_signs(const SplitScanner& text, size_t at) {
  return run_of_signs(text, at, "$+<=>^~|");
}

size_t match_signs_and_backtick(const SplitScanner& text, size_t at) {
  return run_of_signs(text, at, "$+<=>^~|`");
}

}  // namespace foretoken::engine

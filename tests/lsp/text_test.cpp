#include "lsp/text.h"

#include <climits>
#include <random>

#include <gmock/gmock.h>

namespace foretoken::lsp {
namespace {

using enum PositionEncoding;

constexpr PositionEncoding kEncodings[] = {utf8, utf16, utf32};

size_t offset(std::string_view text, uint32_t line, uint32_t character, PositionEncoding encoding) {
  return offset_of(text, LineIndex(text), {line, character}, encoding);
}

TEST(Text, LineEndsOfAllKinds) {
  const LineIndex lines("a\nbb\r\nccc\rd\r\n");
  ASSERT_EQ(lines.lines(), 5u);
  const std::string_view text = "a\nbb\r\nccc\rd\r\n";
  const size_t starts[] = {0, 2, 6, 10, 13};
  const size_t ends[] = {1, 4, 9, 11, 13};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(lines.start(i), starts[i]);
    EXPECT_EQ(lines.content_end(text, i), ends[i]);
    EXPECT_EQ(lines.line_of(starts[i]), i);
  }
  EXPECT_EQ(LineIndex("").lines(), 1u);
  EXPECT_EQ(LineIndex("\r\r\n\n").lines(), 4u);
  EXPECT_EQ(lines.line_of(5), 1u);  // between \r and \n
  EXPECT_EQ(lines.line_of(1000), 4u);
}

struct PositionCase {
  const char* text;
  PositionEncoding encoding;
  Position at;
  size_t offset;
  bool exact;
};

TEST(Text, PositionsAreClampedAndNeverFail) {
  const PositionCase cases[] = {
      {"aé漢😀b", utf8, {0, 1}, 1, true},
      {"aé漢😀b", utf8, {0, 2}, 1, false},  // inside é
      {"aé漢😀b", utf8, {0, 8}, 6, false},  // inside 😀
      {"aé漢😀b", utf8, {0, 10}, 10, true},
      {"aé漢😀b", utf16, {0, 2}, 3, true},
      {"aé漢😀b", utf16, {0, 3}, 6, true},
      {"aé漢😀b", utf16, {0, 4}, 6, false},  // between the surrogates
      {"aé漢😀b", utf16, {0, 5}, 10, true},
      {"aé漢😀b", utf32, {0, 4}, 10, true},
      {"aé漢😀b", utf32, {0, 6}, 11, false},
      {"ab\r\ncd", utf16, {0, 3}, 2, false},  // no place between \r and \n
      {"ab\r\ncd", utf8, {0, 3}, 2, false},
      {"ab\ncd", utf16, {0, INT_MAX}, 2, false},
      {"ab\ncd", utf16, {0, UINT_MAX}, 2, false},
      {"ab\ncd", utf8, {0, UINT_MAX}, 2, false},
      {"ab\ncd", utf32, {INT_MAX, 0}, 5, false},
      {"ab\ncd", utf32, {UINT_MAX, UINT_MAX}, 5, false},
      {"ab\n", utf16, {1, 0}, 3, true},
      {"ab\n", utf16, {2, 0}, 3, false},
      {"", utf16, {0, 0}, 0, true},
      {"x\xFF\xC3y", utf16, {0, 3}, 3, true},    // bad bytes are one unit each
      {"\xED\xA0\x80", utf16, {0, 2}, 2, true},  // an encoded surrogate is three bad bytes
      {"a\u200D😀\u0301", utf16, {0, 2}, 4, true},
      {"a\u200D😀\u0301", utf32, {0, 4}, 10, true},
  };
  for (const PositionCase& c : cases) {
    const std::string_view text = c.text;
    SCOPED_TRACE(testing::Message()
                 << text << " " << c.at.line << ":" << c.at.character << " " << name(c.encoding));
    const LineIndex lines(text);
    EXPECT_EQ(offset_of(text, lines, c.at, c.encoding), c.offset);
    EXPECT_EQ(is_exact(text, lines, c.at, c.encoding), c.exact);
    if (c.exact) {
      EXPECT_EQ(position_of(text, lines, c.offset, c.encoding), c.at);
    }
  }
}

TEST(Text, OffsetsInsideACharacterAreItsStart) {
  const std::string_view text = "a😀\r\nb";
  const LineIndex lines(text);
  for (size_t inside : {1u, 2u, 3u, 4u}) {
    EXPECT_EQ(position_of(text, lines, inside, utf16), (Position{0, 1}));
  }
  EXPECT_EQ(position_of(text, lines, 6, utf16), (Position{0, 3}));  // between \r and \n
  EXPECT_EQ(position_of(text, lines, 99, utf16), (Position{1, 1}));
}

TEST(Text, CharactersAreWhatUtf8Allows) {
  struct {
    const char* bytes;
    bool valid;
  } const cases[] = {
      {"\x7F", true},
      {"\xC2\x80", true},
      {"\xC1\x80", false},
      {"\xE0\x9F\xBF", false},
      {"\xE0\xA0\x80", true},
      {"\xED\x9F\xBF", true},
      {"\xED\xBF\xBF", false},
      {"\xF0\x8F\xBF\xBF", false},
      {"\xF4\x8F\xBF\xBF", true},
      {"\xF4\x90\x80\x80", false},
      {"\x80", false},
      {"\xE2\x82", false},
      {"\xF5\x80\x80\x80", false},
      {"\xC3(", false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(is_valid_utf8(c.bytes), c.valid) << testing::PrintToString(std::string(c.bytes));
    EXPECT_TRUE(is_valid_utf8(valid_utf8(c.bytes)));
  }
  EXPECT_EQ(valid_utf8("a\xE2\x82z"), "a\uFFFD\uFFFDz");
  EXPECT_EQ(valid_utf8("é"), "é");
}

TEST(Text, LfForm) {
  EXPECT_EQ(to_lf("a\r\nb\rc\n\r\r\n"), "a\nb\nc\n\n\n");
  EXPECT_EQ(to_lf("\r"), "\n");
  EXPECT_EQ(to_lf(""), "");
}

// The dull model: a text is a list of lines, a line a list of characters with its own line end.
struct DullLine {
  std::vector<std::string> characters;
  std::string end;
};

std::vector<DullLine> dull(std::string_view text) {
  std::vector<DullLine> lines(1);
  for (size_t i = 0; i < text.size();) {
    std::string one(text.substr(i, character_at(text, i).bytes));
    i += one.size();
    if (one == "\r" && i < text.size() && text[i] == '\n') {
      one += text[i++];
    }
    if (one[0] == '\n' || one[0] == '\r') {
      lines.back().end = one;
      lines.emplace_back();
    } else {
      lines.back().characters.push_back(one);
    }
  }
  return lines;
}

size_t dull_units(const std::string& character, PositionEncoding encoding) {
  if (encoding == utf8) return character.size();
  return encoding == utf16 && character.size() == 4 ? 2 : 1;
}

// Bytes before the position, found by walking.
size_t dull_offset(const std::vector<DullLine>& lines, Position at, PositionEncoding encoding) {
  size_t bytes = 0;
  for (size_t l = 0; l < lines.size(); ++l) {
    uint64_t unit = 0;
    for (const std::string& character : lines[l].characters) {
      const size_t width = dull_units(character, encoding);
      if (l == at.line && unit + width > at.character) return bytes;
      unit += width;
      bytes += character.size();
    }
    if (l == at.line) return bytes;
    bytes += lines[l].end.size();
  }
  return bytes;
}

const char* const kPieces[] = {"a",    "xyz ", "\n",       "\r\n",    "\r",    "é",
                               "漢字", "😀",    "👩\u200D💻", "e\u0301", "",      "\t",
                               "\xFF", "\xC3", "\x80",     "{\n}\n",  "\u2028"};

TEST(Text, RandomEditsEqualADullModelInAllEncodings) {
  std::mt19937 random(20250611);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (const PositionEncoding encoding : kEncodings) {
    std::string text;
    for (int step = 0; step < 17000; ++step) {
      const std::vector<DullLine> model = dull(text);
      const LineIndex lines(text);
      ASSERT_EQ(lines.lines(), model.size()) << "step " << step;
      const auto any = [&]() -> Position {
        const uint32_t kind = below(20);
        if (kind == 0) return {INT_MAX, below(3)};
        if (kind == 1) return {below(static_cast<uint32_t>(model.size())), INT_MAX};
        return {below(static_cast<uint32_t>(model.size()) + 1), below(14)};
      };
      const Position a = any(), b = any();
      size_t from = offset_of(text, lines, a, encoding);
      size_t to = offset_of(text, lines, b, encoding);
      ASSERT_EQ(from, dull_offset(model, a, encoding)) << "step " << step;
      ASSERT_EQ(to, dull_offset(model, b, encoding)) << "step " << step;
      const Position back = position_of(text, lines, from, encoding);
      ASSERT_EQ(offset_of(text, lines, back, encoding), from) << "step " << step;
      ASSERT_TRUE(is_exact(text, lines, back, encoding)) << "step " << step;
      ASSERT_EQ(is_exact(text, lines, a, encoding), a == back) << "step " << step;
      if (from > to) std::swap(from, to);
      std::string inserted;
      for (uint32_t i = below(4); i > 0; --i) inserted += kPieces[below(std::size(kPieces))];
      text.replace(from, to - from, inserted);
      if (text.size() > 300) text.erase(below(200));
    }
  }
}

TEST(Text, LongLinesCostOneWalk) {
  const std::string text(8 << 20, 'x');
  EXPECT_EQ(offset(text, 0, 5 << 20, utf16), size_t{5} << 20);
  EXPECT_EQ(offset(text, 0, 5 << 20, utf8), size_t{5} << 20);
}

}  // namespace
}  // namespace foretoken::lsp

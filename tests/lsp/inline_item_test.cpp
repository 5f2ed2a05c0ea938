#include "lsp/inline_item.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace foretoken::lsp {
namespace {

/// `marked` has the cursor as ^. Returns "text @ line:start-end" or "nothing".
std::string item_at(std::string marked, CompletionAnswer answer,
                    std::optional<SelectedCompletion> selected = std::nullopt,
                    PositionEncoding encoding = PositionEncoding::utf16) {
  const size_t cursor = marked.find('^');
  marked.erase(cursor, 1);
  auto document = std::make_shared<const Snapshot>("file:///t.c", "c", 1, marked);
  const Position at = position_of(document->text(), document->lines(), cursor, encoding);
  const auto question = make_question(document, at, selected, encoding);
  if (!question) return "no question";
  answer.start = question->cursor - answer.start;  // distances from the cursor
  answer.end = question->cursor + answer.end;
  const auto item = make_item(*question, answer, encoding);
  if (!item) return "nothing";
  EXPECT_EQ(item->range.start.line, item->range.end.line);
  return item->text + " @ " + std::to_string(item->range.start.line) + ":" +
         std::to_string(item->range.start.character) + "-" +
         std::to_string(item->range.end.character);
}

CompletionAnswer answer(std::string text, size_t left = 0, size_t right = 0) {
  CompletionAnswer out;
  out.text = std::move(text);
  out.start = left;
  out.end = right;
  return out;
}

TEST(InlineItem, StartsAtTheIndentationWithTheTypedText) {
  EXPECT_EQ(item_at("int ^", answer("x;")), "int x; @ 0:0-4");
  EXPECT_EQ(item_at("a\n    ret^", answer("urn 1;")), "return 1; @ 1:4-7");
  EXPECT_EQ(item_at("    ^", answer("x")), "x @ 0:4-4");
  EXPECT_EQ(item_at("^", answer("x")), "x @ 0:0-0");
  EXPECT_EQ(item_at("f(^)", answer("a, b)", 0, 1)), "f(a, b) @ 0:0-3");
  EXPECT_EQ(item_at("  f(^) + 1", answer("a")), "f(a @ 0:2-4");
}

TEST(InlineItem, StartStaysWhileTheUserTypes) {
  for (const char* typed : {"    r^", "    re^", "    return ^", "    return f(^"}) {
    EXPECT_NE(item_at(typed, answer("x")).find(" @ 0:4-"), std::string::npos) << typed;
  }
}

TEST(InlineItem, DedentReplacesBlanksOnly) {
  EXPECT_EQ(item_at("    ^", answer("}", 4)), "} @ 0:0-4");
  EXPECT_EQ(item_at("        ^", answer("} else {", 4)), "} else { @ 0:4-8");
}

TEST(InlineItem, LongLinesRepeatTheWordOnly) {
  EXPECT_EQ(item_at(std::string(300, '.') + " word^", answer("s")), "words @ 0:301-305");
  EXPECT_EQ(item_at(std::string(300, '.') + "^", answer("s")), "s @ 0:300-300");
}

TEST(InlineItem, CountsInTheAgreedEncoding) {
  const std::string marked = "é😀 ^";
  EXPECT_EQ(item_at(marked, answer("x"), {}, PositionEncoding::utf8), "é😀 x @ 0:0-7");
  EXPECT_EQ(item_at(marked, answer("x"), {}, PositionEncoding::utf16), "é😀 x @ 0:0-4");
  EXPECT_EQ(item_at(marked, answer("x"), {}, PositionEncoding::utf32), "é😀 x @ 0:0-3");
}

TEST(InlineItem, LineEndsAreLfAndTextIsValid) {
  EXPECT_EQ(item_at("a ^\r\nb\r\n", answer("{\r\n}\r")), "a {\n}\n @ 0:0-2");
  EXPECT_EQ(item_at("^", answer("cut \xf0\x9f")), "cut \xEF\xBF\xBD\xEF\xBF\xBD @ 0:0-0");
}

TEST(InlineItem, NothingWhereNothingChanges) {
  EXPECT_EQ(item_at("a^", answer("")), "nothing");
  EXPECT_EQ(item_at("f(^)", answer(")", 0, 1)), "nothing");
}

TEST(InlineItem, NothingForAnAnswerThatDoesNotFit) {
  EXPECT_EQ(item_at("a\nb^\nc", answer("x", 2)), "nothing");     // starts on the line before
  EXPECT_EQ(item_at("a\nb^\nc", answer("x", 0, 1)), "nothing");  // takes the line end
  EXPECT_EQ(item_at("é^", answer("x", 1)), "nothing");           // cuts a character
  EXPECT_EQ(item_at("a^", answer("x", 0, 1000)), "nothing");
}

TEST(InlineItem, SelectedSuggestionIsKept) {
  const SelectedCompletion print{{{0, 0}, {0, 2}}, "println"};
  EXPECT_EQ(item_at("pr^", answer("(x)"), print), "println(x) @ 0:0-2");
  EXPECT_EQ(item_at("pr^)", answer("(x))", 0, 1), print), "println(x) @ 0:0-2");  // the ) stays
  EXPECT_EQ(item_at("pr^)", answer("(x", 0, 1), print), "nothing");  // would lose the )
  EXPECT_EQ(item_at("pr^", answer(""), print), "nothing");
  EXPECT_EQ(item_at("pr^", answer("x", 2), print), "nothing");  // would change the suggestion
  EXPECT_EQ(item_at("a\npr^", answer("(x)"), print), "no question");
  EXPECT_EQ(item_at("pr^", answer("(x)"), SelectedCompletion{{{0, 2}, {0, 0}}, "y"}),
            "no question");
  EXPECT_EQ(item_at("  pr^", answer("\n}"), SelectedCompletion{{{0, 2}, {0, 4}}, "do {\n  x;"}),
            "do {\n  x;\n} @ 0:2-4");
}

TEST(InlineItem, ASelectionOfPresentTextIsNoSuggestion) {
  EXPECT_EQ(item_at("some^ text", answer("x"), SelectedCompletion{{{0, 0}, {0, 9}}, "some text"}),
            "somex @ 0:0-4");
  EXPECT_EQ(item_at("a\nb^", answer("x"), SelectedCompletion{{{0, 0}, {1, 1}}, "a\nb"}),
            "bx @ 1:0-1");
}

TEST(InlineItem, AlwaysAroundTheCursorOnOneLine) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {
      "a", " ", "\t", "é", "😀", "\n", "\r\n", "\r", "(", "word", std::string(150, 'x')};
  const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (int round = 0; round < 20'000; ++round) {
    std::string text, added;
    for (size_t i = pick(12); i > 0; --i) text += pieces[pick(pieces.size())];
    for (size_t i = pick(4); i > 0; --i) added += pieces[pick(pieces.size())];
    const auto document = std::make_shared<const Snapshot>("u", "c", 1, text);
    const auto encoding = static_cast<PositionEncoding>(pick(3));
    const Position at{static_cast<uint32_t>(pick(5)), static_cast<uint32_t>(pick(200))};
    std::optional<SelectedCompletion> selected;
    if (pick(3) == 0) {
      selected = SelectedCompletion{
          {{at.line, at.character - static_cast<uint32_t>(pick(at.character + 1))}, at}, added};
    }
    const auto question = make_question(document, at, selected, encoding);
    if (!question) continue;
    CompletionAnswer a = answer(added);
    a.start = question->cursor - std::min(question->cursor, pick(4));
    a.end = question->cursor + pick(4);
    const auto item = make_item(*question, a, encoding);
    if (!item) continue;
    const size_t cursor = offset_of(document->text(), document->lines(), at, encoding);
    const size_t start =
        offset_of(document->text(), document->lines(), item->range.start, encoding);
    const size_t end = offset_of(document->text(), document->lines(), item->range.end, encoding);
    ASSERT_TRUE(start <= cursor && cursor <= end) << "round " << round;
    ASSERT_EQ(document->lines().line_of(start), document->lines().line_of(end))
        << "round " << round;
    ASSERT_TRUE(is_valid_utf8(item->text) && item->text.find('\r') == std::string::npos)
        << "round " << round;
    if (selected) {
      ASSERT_TRUE(item->range == selected->range && item->text.starts_with(to_lf(selected->text)));
    }
  }
}

}  // namespace
}  // namespace foretoken::lsp

// Where prompts begin, are anchored, and what a burst of typing leaves alone.
#include "engine/layout_history.h"

#include <gtest/gtest.h>

#include "engine/gguf.h"
#include "tests/support/models.h"

namespace foretoken::engine {
namespace {

const Tokenizer& tokenizer() {
  static const GgufFile file(test::pocket_path());
  static const Tokenizer t(file);
  return t;
}

/// "ab^cd" -> text and cursor.
std::pair<std::string, size_t> marked(std::string text) {
  const size_t cursor = text.find('^');
  text.erase(cursor, 1);
  return {text, cursor};
}

std::string lines(int count, int from = 0) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "value_" + std::to_string(from + i) + " = compute(" + std::to_string(i) + ")\n";
  return text;
}

class Typist {
 public:
  explicit Typist(LayoutLimits limits = {}) : limits_(limits) {}
  const Layout& at(const std::string& text_with_cursor) {
    const auto [text, cursor] = marked(text_with_cursor);
    return history_.place(tokenizer(), limits_, text, cursor);
  }

 private:
  LayoutLimits limits_;
  LayoutHistory history_;
};

TEST(Layout, AnchorsThirtyLinesAboveAndPinsWhatStandsRight) {
  Typist typist;
  std::string above;
  for (int i = 0; i < 100; ++i) above += "f(" + std::to_string(i) + ")\n";
  const Layout& l = typist.at(above + "x = ^\nrest\n");
  EXPECT_TRUE((above + "x = ").ends_with(l.middle));
  EXPECT_EQ(std::count(l.middle.begin(), l.middle.end(), '\n'), 30);
  EXPECT_EQ(l.suffix, "\nrest\n");
}

TEST(Layout, TypingOnlyAppendsToTheMiddle) {
  Typist typist;
  const std::string above = lines(60), below = "\n" + lines(20);
  std::string typed;
  std::string prefix, suffix;
  for (const char c : std::string("total = sum(values)\nprint(total)\n\nfor v in values:\n    ")) {
    typed += c;
    const Layout& l = typist.at(above + typed + "^" + below);
    if (prefix.empty()) prefix = l.prefix, suffix = l.suffix;
    EXPECT_EQ(l.prefix, prefix);
    EXPECT_EQ(l.suffix, suffix);
    EXPECT_TRUE(l.middle.ends_with(typed));
  }
}

struct Burst {
  const char* what;
  const char* first;
  const char* then;
  bool moves;
};
const Burst kBursts[] = {
    {"a closed bracket", "f^\nend\n", "f(^)\nend\n", false},
    {"closed quotes in a closed bracket", "f^\nend\n", "f(\"^\")\nend\n", false},
    {"backspace", "abc^\nend\n", "ab^\nend\n", false},
    {"a line break", "a = 1^\nend\n", "a = 1\n^\nend\n", false},
    {"a line break with indentation", "def f():^\nend\n", "def f():\n    ^\nend\n", false},
    {"an edit below the cursor's line", "a^\nend\n", "a^\nEND\n", true},
    {"a jump down", "a^\nend\nlast\n", "a\nend^\nlast\n", true},
    {"a closed bracket typed over", "f(^)\nend\n", "f(x)^\nend\n", false},
    {"the same again", "a^\nend\n", "a^\nend\n", false},
    {"an edit in the line above, behind the anchor", "b = 1\na^\nend\n", "b = 2\na^\nend\n", false},
};

TEST(Layout, KeepsItsAnchorWhileTheTextAroundItStands) {
  for (const Burst& burst : kBursts) {
    Typist typist;
    const std::string above = lines(60);
    typist.at(above + burst.first);
    EXPECT_EQ(typist.at(above + burst.then).moved, burst.moves) << burst.what;
  }
}

TEST(Layout, MovesWithEditsAboveTheWindow) {
  LayoutLimits limits;
  limits.window = 512;
  Typist typist(limits);
  const std::string near = lines(200) + "x^\nend\n";
  const Layout first = typist.at("# one line\n" + near);
  EXPECT_GT(first.window_start, 100u);
  const Layout& then = typist.at("# one line\n# and another\n" + near);
  EXPECT_FALSE(then.moved);
  EXPECT_EQ(then.prefix, first.prefix);
}

TEST(Layout, StartsOnALineAndJumps) {
  LayoutLimits limits;
  limits.window = 512;
  Typist typist(limits);
  std::string text = lines(100);
  size_t start = 0;
  int jumps = 0, places = 0;
  for (int i = 0; i < 120; ++i) {
    text += "more_" + std::to_string(i) + " = other(" + std::to_string(i) + ")\n";
    const Layout& l = typist.at(text + "^\nend\n");
    EXPECT_TRUE(l.window_start == 0 || text[l.window_start - 1] == '\n');
    if (l.moved) ++places;
    if (l.window_start != start) ++jumps;
    start = l.window_start;
    const size_t tokens = l.prefix_ids.size() + l.suffix_ids.size() + tokenizer().encode(l.middle).size();
    EXPECT_LE(tokens, size_t(limits.window * 5 / 4 + 8));
  }
  EXPECT_GE(jumps, 3);   // 120 lines of some 12 tokens through a window of 384
  EXPECT_LE(jumps, 16);  // but never line by line
  EXPECT_LE(places, 40);
}

TEST(Layout, CostDoesNotGrowWithTheFile) {
  LayoutLimits limits;
  const std::string near = lines(400), far = lines(40000);
  Typist small(limits), large(limits);
  const Layout a = small.at(near + "x = ^\n" + near);
  const Layout b = large.at(far + near + "x = ^\n" + near + far);
  EXPECT_EQ(a.prefix_ids, b.prefix_ids);
  EXPECT_EQ(a.suffix_ids, b.suffix_ids);
}

TEST(Layout, TakesAPieceOfALineLargerThanTheWindow) {
  LayoutLimits limits;
  limits.window = 256;
  Typist typist(limits);
  std::string giant;
  for (int i = 0; i < 20000; ++i) giant += "a" + std::to_string(i) + ",";
  const Layout& l = typist.at(giant + "^" + giant);
  EXPECT_FALSE(l.middle.empty());
  EXPECT_FALSE(l.suffix.empty());
  EXPECT_LE(l.prefix_ids.size() + tokenizer().encode(l.middle).size() + l.suffix_ids.size(), 400u);
}

TEST(Layout, UsualPutsEverythingLeftOfTheCursorIntoThePrefix) {
  LayoutLimits limits;
  limits.usual = true;
  Typist typist(limits);
  const Layout& l = typist.at("import a\nx = ^y\n");
  EXPECT_EQ(l.prefix, "import a\nx = ");
  EXPECT_EQ(l.middle, "");
  EXPECT_EQ(l.suffix, "y\n");
}

}  // namespace
}  // namespace foretoken::engine

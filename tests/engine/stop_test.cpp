#include "engine/stop.h"

#include <random>

#include <gmock/gmock.h>

#include "tests/support/rule_cases.h"

namespace foretoken::engine {
namespace {

Mode mode_named(const std::string& text) {
  for (Mode mode : {Mode::word, Mode::line, Mode::block}) {
    if (text == name(mode)) return mode;
  }
  ADD_FAILURE() << "no mode: " << text;
  return Mode::line;
}

StopRule::Verdict run(const StopContext& context, std::string_view generated, bool cut_short,
                      std::mt19937* splits = nullptr) {
  StopRule rule(context);
  for (size_t at = 0; at < generated.size();) {
    const size_t size = splits ? (*splits)() % 9 : generated.size();
    if (const auto verdict = rule.push(generated.substr(at, size))) return *verdict;
    at += size;
  }
  return rule.finish(cut_short);
}

TEST(Stop, CasesOfWhereACompletionEnds) {
  const auto cases = test::read_rule_cases("stop.txt");
  EXPECT_GE(cases.size(), 60u);
  std::mt19937 random(1);
  for (const auto& c : cases) {
    SCOPED_TRACE(c.where);
    ASSERT_EQ(c.parts.size(), 2u);
    const auto [before, after] = test::at_cursor(c.parts[0]);
    std::string generated = c.parts[1];
    const std::string mark = "§";
    const size_t keep = std::min(generated.find(mark), generated.size());
    if (keep < generated.size()) generated.erase(keep, mark.size());
    const StopContext context{mode_named(c.fields[0]), before, after};
    const bool cut_short = c.fields.size() > 2;
    const auto verdict = run(context, generated, cut_short);
    EXPECT_EQ(generated.substr(0, verdict.keep), generated.substr(0, keep));
    EXPECT_EQ(name(verdict.reason), c.fields[1]);
    for (int i = 0; i < 20; ++i) {
      const auto split = run(context, generated, cut_short, &random);
      EXPECT_EQ(split.keep, verdict.keep);
      EXPECT_EQ(split.reason, verdict.reason);
    }
  }
}

TEST(Stop, CasesOfModes) {
  for (const auto& c : test::read_rule_cases("decide.txt")) {
    SCOPED_TRACE(c.where);
    const auto [before, after] = test::at_cursor(c.parts[0]);
    EXPECT_STREQ(name(decide_mode(before, after)), c.fields[0].c_str());
  }
}

// Any document, any text: the same verdict however it is split, on a whole character, never blanks
// only.
TEST(Stop, AnyTextAnySplit) {
  const char* const pieces[] = {
      "a",    "foo",  " ",      "  ",    "    ",  "\t",   "\n",     "\n",    "\n    ", "(",
      ")",    "[",    "]",      "{",     "}",     "{\n",  "}\n",    ":",     ":\n",    "\"",
      "'",    "`",    "\"\"\"", "#",     "//",    "/*",   "*/",     "é",     "漢",     "😀",
      "\xE6", "\xFF", "\\",     "end\n", "def f", "do\n", "then\n", "<p>\n", "</p>\n", "return x\n",
      ";\n",  ",",    "else",   "/",     "=",     "=>",   "x x x "};
  std::mt19937 random(20);
  const auto soup = [&](size_t most) {
    std::string text;
    for (size_t i = random() % most; i > 0; --i) text += pieces[random() % std::size(pieces)];
    return text;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::string before = soup(40), after = soup(20);
    const std::string generated = soup(60);
    const auto mode = static_cast<Mode>(random() % 4);
    const bool cut_short = random() % 2 == 0;
    const StopContext context{mode, before, after};
    const auto whole = run(context, generated, cut_short);
    const auto split = run(context, generated, cut_short, &random);
    SCOPED_TRACE(testing::Message() << i << ": " << testing::PrintToString(generated));
    ASSERT_EQ(whole.keep, split.keep);
    ASSERT_EQ(whole.reason, split.reason);
    ASSERT_LE(whole.keep, generated.size());
    const std::string kept = generated.substr(0, whole.keep);
    ASSERT_TRUE(kept.empty() || !is_blank(kept));
    if (mode == Mode::word) {
      ASSERT_EQ(kept.find('\n'), std::string::npos);
    }
  }
}

TEST(Stop, EndsByItselfOnEndlessText) {
  for (const char* piece :
       {"x", "ab ", "x = 1\n", "\n", " ", "(", "}", "a\nb\nc\n", "\"", "é", "\xFF"}) {
    for (Mode mode : {Mode::word, Mode::line, Mode::block}) {
      StopRule rule({mode, "void f() {\n  ", "\n}\n"});
      size_t fed = 0;
      while (!rule.push(piece) && fed < 100000) fed += std::string_view(piece).size();
      EXPECT_LT(fed, mode == Mode::word ? 100001u : 2000u) << piece << " " << name(mode);
    }
  }
}

TEST(Stop, TheTextAroundMayBeLarge) {
  std::string big;
  while (big.size() < 8 << 20) big += "    if (x) { call(a, b); }\n";
  StopRule rule({Mode::block, big + "    if (x) {\n", "\n" + big});
  EXPECT_TRUE(rule.push("        y();\n    }\n    z();\n"));
  const std::string one_line(4 << 20, 'x');
  StopRule wide({Mode::line, one_line, one_line});
  EXPECT_TRUE(wide.push("abc\n"));
}

}  // namespace
}  // namespace foretoken::engine

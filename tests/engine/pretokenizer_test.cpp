// Split rules against the models' own regular expressions (tests/data/tokenizers/make_splits.py).
#include "engine/pretokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <set>
#include <sstream>

namespace foretoken::engine {
namespace {

using testing::ElementsAre;

std::vector<std::string> pieces(std::string_view name, std::string_view text) {
  std::vector<size_t> ends;
  split_text(find_pretokenizer(name)->rules, text, 0, ends);
  std::vector<std::string> pieces;
  size_t begin = 0;
  for (const size_t end : ends) {
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

TEST(Pretokenizer, CutsAsTheRegularExpressionsDo) {
  std::ifstream file(FORETOKEN_TEST_DATA "/tokenizers/splits.txt");
  std::string line;
  size_t cases = 0;
  std::set<std::string> rules;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string name, hex, text;
    fields >> name >> hex;
    for (size_t i = 0; i < hex.size(); i += 2) {
      text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    std::vector<size_t> expected, ends;
    for (size_t end; fields >> end;) expected.push_back(end);
    split_text(find_pretokenizer(name)->rules, text, 0, ends);
    EXPECT_EQ(ends, expected) << name << " [" << text << "]";
    rules.insert(name);
    ++cases;
  }
  EXPECT_EQ(rules.size(), 13u);
  EXPECT_GE(cases, 1000u);
}

TEST(Pretokenizer, InvalidBytesAreSignsOfTheirOwn) {
  EXPECT_THAT(pieces("qwen2", "a\xff\xff b"), ElementsAre("a", "\xff\xff", " b"));
  EXPECT_THAT(pieces("gpt-2", "1\xe6\x97 x"), ElementsAre("1", "\xe6\x97", " x"));
}

TEST(Pretokenizer, KnowsEveryNameOnce) {
  const std::vector<std::string_view> names = pretokenizer_names();
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  for (const std::string_view name : names) EXPECT_EQ(find_pretokenizer(name)->name, name);
  EXPECT_EQ(find_pretokenizer("qwen"), nullptr);
  EXPECT_EQ(find_pretokenizer(""), nullptr);
}

TEST(Pretokenizer, IsLinearInEveryRunOfOneKind) {
  const auto seconds = [](SplitRules rules, const std::string& text) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      std::vector<size_t> ends;
      const std::clock_t start = std::clock();
      split_text(rules, text, 0, ends);
      best = std::min(best, double(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
  };
  const auto repeat = [](const char* pattern, size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += pattern;
    return text;
  };
  std::set<SplitRules> seen;
  for (const std::string_view name : pretokenizer_names()) {
    const SplitRules rules = find_pretokenizer(name)->rules;
    if (!seen.insert(rules).second) continue;
    for (const char* pattern : {" ", "\n", " \n", "a", "A", "1", "(", "\u0301", "中", "中A", "'",
                                "\u3000", " 1", "\t(", "\xff", "a'"}) {
      const std::string small = repeat(pattern, 1 << 13) + "1",
                        large = repeat(pattern, 1 << 17) + "1";
      // Sixteen times the text: 16 where linear, 256 where quadratic.
      EXPECT_LE(seconds(rules, large), 60 * seconds(rules, small) + 2e-3) << name << " " << pattern;
    }
  }
}

}  // namespace
}  // namespace foretoken::engine

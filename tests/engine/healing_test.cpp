// Token healing: what is taken off, and that what comes in its place agrees with every byte typed.
#include "engine/healing.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/gguf.h"
#include "tests/support/models.h"

namespace foretoken::engine {
namespace {

const Tokenizer& tokenizer() {
  static const GgufFile file(test::pocket_path());
  static const Tokenizer t(file);
  return t;
}

struct HealCase {
  const char* middle;  // | marks what is taken off
  bool indentation;
};
const HealCase kHeal[] = {
    {"", false},
    {"x = 1\n", false},
    {"| val", false},
    {"return| val", false},
    {"return| ", false},
    {"foo|(bar", false},
    {"foo|.ba", false},
    {"foo(bar|)", false},
    {"x| +=", false},
    {"def f():\n   | ", true},
    {"def f():\n\t|\t", true},
    {"a =| gr\xC3\xBC", false},
    {"n = 12|3", false},
};

TEST(Healing, TakesOffTheLastWordWithItsBlank) {
  for (const HealCase& c : kHeal) {
    std::string middle = c.middle;
    const size_t bar = middle.find('|');
    const size_t keep = bar == std::string::npos ? middle.size() : bar;
    if (bar != std::string::npos) middle.erase(bar, 1);
    const Healed healed = heal(tokenizer(), middle);
    EXPECT_EQ(middle.substr(healed.keep), middle.substr(keep)) << c.middle;
    EXPECT_EQ(healed.indentation, c.indentation) << c.middle;
  }
}

TEST(Healing, RestrictsToTokensThatAgreeWithWhatIsTyped) {
  Restriction restriction(tokenizer(), " ret");
  ASSERT_TRUE(restriction.active());
  for (const TokenId id : restriction.allowed()) {
    const std::string_view text = tokenizer().text(id);
    EXPECT_TRUE(text.starts_with(" ret") || std::string_view(" ret").starts_with(text)) << text;
  }
  const TokenId whole = tokenizer().encode(" return").front();
  EXPECT_EQ(restriction.accept(whole), "urn");
  EXPECT_FALSE(restriction.active());
}

/// Words as programs have them: long names, several scripts, digits, operators, runs of blanks, and
/// what no vocabulary has whole.
const char* const kWords[] = {
    " calculate_total_price", "HTTPServerConnectionFactory", "x", " = ", "::operator<<=", "0x1fA3e9", "12345678901",
    "gr\xC3\xBC\xC3\x9F""e_aus_K\xC3\xB6ln", "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", "\xF0\x9F\xA6\x80\xF0\x9F\xA6\x80",
    "\"https://example.org/a?b=c\"", "        ", "\t\t\t", "!==", "->*", "__init__", "\xE2\x80\xAF\xE2\x80\xAF",
    "zq\x01\x7f", "e\xCC\x81\xCC\x81", "...", "'''", "camelCaseIDsAndXMLs"};

class EveryVocabulary : public testing::TestWithParam<std::string> {
 protected:
  EveryVocabulary()
      : file_(GetParam() == "pocket" ? test::pocket_path() : test::data_path("tokenizers/" + GetParam() + ".gguf")),
        tokenizer_(file_) {}
  const GgufFile file_;
  const Tokenizer tokenizer_;
};

/// Any model: whatever it prefers among what is allowed, its tokens spell what was typed, in no more
/// tokens than the tokenizer makes of it, and there is always one to choose.
TEST_P(EveryVocabulary, AnyChoiceAmongWhatIsAllowedSpellsWhatIsTyped) {
  std::mt19937 random(9);
  for (const char* whole : kWords) {
    const std::string word = whole;
    for (size_t cut = 1; cut <= word.size(); ++cut) {
      const std::string typed = word.substr(0, cut);
      const std::vector<TokenId> own = tokenizer_.encode(typed);
      if (tokenizer_.decode(own) != typed) continue;  // bytes this vocabulary has no tokens for
      for (int model = 0; model < 8; ++model) {
        Restriction restriction(tokenizer_, typed);
        std::string spelt;
        size_t steps = 0;
        while (restriction.active()) {
          const std::vector<TokenId> allowed = restriction.allowed();
          ASSERT_FALSE(allowed.empty()) << typed;
          // A model of short tokens, one of long ones, and some in between.
          const auto shorter = [&](TokenId a, TokenId b) {
            return tokenizer_.text(a).size() < tokenizer_.text(b).size();
          };
          const TokenId id = model == 0   ? *std::min_element(allowed.begin(), allowed.end(), shorter)
                             : model == 1 ? *std::max_element(allowed.begin(), allowed.end(), shorter)
                                          : allowed[random() % allowed.size()];
          spelt += tokenizer_.text(id);
          restriction.accept(id);
          ASSERT_LE(++steps, own.size()) << typed;
        }
        ASSERT_TRUE(spelt.starts_with(typed)) << typed << " became " << spelt;
      }
      // The tokenizer's own tokens are always a way.
      Restriction own_way(tokenizer_, typed);
      for (const TokenId id : own) {
        ASSERT_TRUE(own_way.active());
        const std::vector<TokenId> allowed = own_way.allowed();
        ASSERT_TRUE(std::binary_search(allowed.begin(), allowed.end(), id)) << typed;
        own_way.accept(id);
      }
      EXPECT_FALSE(own_way.active());
    }
  }
}

TEST_P(EveryVocabulary, WhatIsKeptAndWhatIsTakenOffAreTheTypedText) {
  for (const char* word : kWords) {
    for (const char* start : {"", "x", "x ", "if x:\n", "if x:\n    ", "a\n\t"}) {
      const std::string middle = std::string(start) + word;
      for (size_t cut = 0; cut <= middle.size(); ++cut) {
        const std::string typed = middle.substr(0, cut);
        const Healed healed = heal(tokenizer_, typed);
        ASSERT_LE(healed.keep, typed.size());
        // Nothing is taken off behind a line break, and never a line break.
        EXPECT_EQ(typed.find('\n', healed.keep), std::string::npos) << typed;
        if (healed.indentation) {
          EXPECT_EQ(healed.keep + 1, typed.size()) << typed;
        }
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Vocabularies, EveryVocabulary,
                         testing::Values("pocket", "starcoder", "deepseek-coder", "gpt-2", "falcon", "refact", "mpt"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(FewestTokens, AreCountedForEveryEnd) {
  const Tokenizer& t = tokenizer();
  for (const char* text : {"return", " value_1 = f(", "    ", "gr\xC3\xBC\xC3\x9F"}) {
    const std::string all = text;
    const std::vector<int> fewest = t.fewest_tokens(all);
    ASSERT_EQ(fewest.size(), all.size() + 1);
    EXPECT_EQ(fewest.back(), 0);
    for (size_t at = 0; at < all.size(); ++at) {
      const auto own = t.encode(all.substr(at));
      if (t.decode(own) != all.substr(at)) continue;
      EXPECT_GE(fewest[at], 1) << all.substr(at);
      EXPECT_LE(fewest[at], static_cast<int>(own.size())) << all.substr(at);
    }
  }
}

}  // namespace
}  // namespace foretoken::engine

#include "lsp/share_texts.h"

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <string>

namespace foretoken::lsp {
namespace {

using testing::HasSubstr;

TextMemory::Text text(std::string content) {
  return std::make_shared<const std::string>(std::move(content));
}

TEST(ShareTexts, OnlyWhatChangedTravels) {
  TextMemory sent;
  const std::string long_text(100'000, 'x');
  EXPECT_EQ(sent.change_to("a", text(long_text + "end")).middle.size(), 100'003u);
  EXPECT_EQ(sent.change_to("a", text(long_text + "!end")).middle, "!");
  EXPECT_EQ(sent.change_to("a", text(long_text + "!end")).middle, "");
  EXPECT_EQ(sent.change_to("b", text(long_text)).middle.size(), 100'000u);
}

/// Any edits, any documents, any order; small limits, so that texts are forgotten all the time.
TEST(ShareTexts, ArriveWhole) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const TextMemory::Limits limits{.documents = 1 + seed % 5, .bytes = 50 + 40 * (seed % 7), .longest = 1000};
    TextMemory sent(limits), received(limits);
    std::map<std::string, std::string> documents;
    for (int step = 0; step < 400; ++step) {
      const std::string name(1, static_cast<char>('a' + random() % 7));
      std::string& now = documents[name];
      const size_t at = random() % (now.size() + 1);
      // Few letters: beginnings and ends that are alike by chance, and overlap.
      now.replace(at, random() % 4, std::string(random() % 5, static_cast<char>('x' + random() % 2)));
      if (random() % 50 == 0) now.clear();
      if (now.size() > 120) now.resize(random() % 40);
      std::string fault;
      const auto arrived = received.apply(name, sent.change_to(name, text(now)), &fault);
      ASSERT_NE(arrived, nullptr) << fault << ", seed " << seed;
      ASSERT_EQ(*arrived, now) << "seed " << seed;
      ASSERT_EQ(sent.bytes(), received.bytes());
      ASSERT_EQ(sent.documents(), received.documents());
      ASSERT_LE(sent.documents(), limits.documents);
      ASSERT_TRUE(sent.bytes() <= limits.bytes || sent.documents() == 1);
    }
  }
}

TEST(ShareTexts, WhatFitsNothingIsRefused) {
  TextMemory received({.documents = 4, .bytes = 1000, .longest = 100});
  std::string fault;
  EXPECT_EQ(received.apply("a", {.base = 1}, &fault), nullptr);
  EXPECT_THAT(fault, HasSubstr("not here"));
  ASSERT_NE(received.apply("a", {.base = 0, .middle = "0123456789"}, &fault), nullptr);
  const uint64_t huge = ~uint64_t{0};
  EXPECT_EQ(received.apply("a", {.base = 1, .before = 11}, &fault), nullptr);
  EXPECT_EQ(received.apply("a", {.base = 1, .before = 6, .after = 5}, &fault), nullptr);
  EXPECT_EQ(received.apply("a", {.base = 1, .before = huge, .after = huge}, &fault), nullptr);
  EXPECT_EQ(received.apply("a", {.base = 1, .before = 2, .after = huge - 1}, &fault), nullptr);
  EXPECT_THAT(fault, HasSubstr("more of the one before"));
  EXPECT_EQ(received.apply("a", {.base = 1, .before = 10, .middle = std::string(91, 'x')}, &fault), nullptr);
  EXPECT_THAT(fault, HasSubstr("longer than"));
  EXPECT_EQ(received.apply("a", {.base = 0, .middle = "x"}, &fault), nullptr);  // there is a base
  EXPECT_EQ(*received.apply("a", {.base = 1, .before = 10, .middle = std::string(90, 'x')}, &fault),
            "0123456789" + std::string(90, 'x'));
}

}  // namespace
}  // namespace foretoken::lsp

#include "lsp/outbox.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace foretoken::lsp {
namespace {

std::vector<std::string> take_all(Outbox& outbox) {
  outbox.close();
  std::vector<std::string> out;
  while (auto body = outbox.take()) out.push_back(*body);
  return out;
}

TEST(Outbox, KeepsOrder) {
  Outbox outbox;
  for (const char* body : {"a", "b", "c"}) outbox.push({body});
  EXPECT_EQ(take_all(outbox), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(outbox.bytes(), 0u);
}

TEST(Outbox, NewerAnswerShrinksTheWaitingOne) {
  Outbox outbox;
  outbox.push({"answer 1 about x", false, "x", "null 1"});
  outbox.push({"answer 1 about y", false, "y", "null y"});
  outbox.push({"answer 2 about x", false, "x", "null 2"});
  outbox.push({"answer 3 about x", false, "x", "null 3"});
  EXPECT_EQ(outbox.shrunk(), 2u);
  EXPECT_EQ(take_all(outbox),
            (std::vector<std::string>{"null 1", "answer 1 about y", "null 2", "answer 3 about x"}));
}

TEST(Outbox, AnAnswerOnItsWayIsLeftAlone) {
  Outbox outbox;
  outbox.push({"first", false, "x", "null 1"});
  EXPECT_EQ(outbox.take(), "first");
  outbox.push({"second", false, "x", "null 2"});
  EXPECT_EQ(take_all(outbox), (std::vector<std::string>{"second"}));
  EXPECT_EQ(outbox.shrunk(), 0u);
}

TEST(Outbox, DropsWhatOnlyInformsFirst) {
  Outbox outbox({.drop_above = 5000, .stop_above = 100000, .resume_below = 50000});
  size_t sent = 0;
  while (outbox.dropped() == 0 && ++sent < 1000) outbox.push({"log", true});
  EXPECT_LT(sent, 100u);
  outbox.push({"answer"});
  const auto left = take_all(outbox);
  EXPECT_EQ(left.size(), sent);
  EXPECT_EQ(left.back(), "answer");
}

TEST(Outbox, PausesReadingWhileTheClientIsTooFarBehind) {
  Outbox outbox({.drop_above = 1000, .stop_above = 10000, .resume_below = 5000});
  EXPECT_TRUE(outbox.wait_for_room());
  size_t pushed = 0;
  while (outbox.bytes() <= 10000) outbox.push({"answer " + std::to_string(pushed++)});
  std::thread client([&] {
    for (size_t i = 0; i < pushed; ++i) EXPECT_EQ(outbox.take(), "answer " + std::to_string(i));
  });
  EXPECT_TRUE(outbox.wait_for_room());  // returns because the client reads
  EXPECT_LT(outbox.bytes(), 5000u);
  client.join();
}

TEST(Outbox, CloseReleasesEverybody) {
  Outbox outbox({.drop_above = 10, .stop_above = 10, .resume_below = 5});
  outbox.push({"answer"});
  std::thread closer([&] { outbox.close(); });
  EXPECT_FALSE(outbox.wait_for_room());
  closer.join();
  EXPECT_EQ(outbox.take(), "answer");
  EXPECT_EQ(outbox.take(), std::nullopt);
  outbox.push({"too late"});
  EXPECT_EQ(outbox.take(), std::nullopt);
}

/// A minute at 50 messages a second, nobody reading: bounded by what a document's newest answer and
/// the ids of the others take.
TEST(Outbox, AClientThatDoesNotReadCostsLittle) {
  Outbox outbox;
  const std::string item(4000, 'x');
  for (int i = 0; i < 3000; ++i) {
    outbox.push(
        {item, false, "document " + std::to_string(i % 5), "{\"id\":" + std::to_string(i) + "}"});
    outbox.push({std::string(300, 'p'), true});
  }
  EXPECT_LT(outbox.bytes(), 2u << 20);
  const auto left = take_all(outbox);
  EXPECT_EQ(std::count(left.begin(), left.end(), item), 5);
}

}  // namespace
}  // namespace foretoken::lsp

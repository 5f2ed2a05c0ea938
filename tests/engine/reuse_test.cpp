// Reuse never changes an answer: the same bits with a warm tree as from nothing, whatever was
// computed before, evicted or cancelled.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/support/models.h"

namespace foretoken {
namespace {

using engine::TokenId;

std::vector<float> logits_of(engine::Runtime& runtime, const std::vector<TokenId>& ids, bool reuse,
                             int* reused = nullptr) {
  auto sequence = runtime.tree().acquire(ids, static_cast<int>(ids.size()) - 1, reuse);
  if (reused) *reused = sequence.length();
  EXPECT_FALSE(runtime.prefill(sequence, std::span(ids).subspan(size_t(sequence.length())), {}));
  std::vector<float> logits = runtime.logits();
  runtime.tree().release(std::move(sequence));
  return logits;
}

class Reuse : public testing::TestWithParam<std::string> {};

TEST_P(Reuse, GivesTheBitsOfAComputationFromNothing) {
  for (const char* file : {"tiny/qwen2-q8_0.gguf", "tiny/llama-q4_k.gguf", "tiny/llama-f16.gguf"}) {
    // A pool of few pages, so that eviction is part of the game.
    const auto runtime = test::load(test::data_path(file),
                                    {.backend = GetParam(), .chunk = 48, .kv_bytes = 1, .window = 200});
    std::mt19937 random(7);
    std::vector<std::vector<TokenId>> seen{{}};
    int64_t reused_in_all = 0;
    const bool plain = GetParam() == "reference" || GetParam() == "guarded";
    const int rounds = plain ? 12 : 60;  // plain loops take their time
    for (int i = 0; i < rounds; ++i) {
      // A beginning of something seen, then something new.
      const auto& old = seen[random() % seen.size()];
      std::vector<TokenId> ids(old.begin(), old.begin() + ptrdiff_t(random() % (old.size() + 1)));
      for (size_t n = 1 + random() % 90; n > 0 && ids.size() < 300; --n) {
        ids.push_back(static_cast<TokenId>(random() % 256));
      }
      seen.push_back(ids);
      int reused = 0;
      const auto warm = logits_of(*runtime, ids, true, &reused);
      const auto cold = logits_of(*runtime, ids, false);
      reused_in_all += reused;
      ASSERT_EQ(warm.size(), cold.size());
      ASSERT_EQ(std::memcmp(warm.data(), cold.data(), warm.size() * sizeof(float)), 0)
          << file << ", round " << i << ", " << reused << " of " << ids.size() << " reused";
    }
    EXPECT_GT(reused_in_all, rounds * 8);
  }
}

TEST_P(Reuse, SurvivesACancelledPrefill) {
  const auto runtime = test::load(test::data_path("tiny/qwen2-q8_0.gguf"), {.backend = GetParam(), .chunk = 16});
  std::vector<TokenId> ids;
  for (int i = 0; i < 200; ++i) ids.push_back((i * 37) % 256);
  std::stop_source stop;
  auto sequence = runtime->tree().acquire(ids, 199, true);
  ASSERT_FALSE(runtime->prefill(sequence, std::span(ids).first(64), stop.get_token()));
  stop.request_stop();
  ASSERT_EQ(runtime->prefill(sequence, std::span(ids).subspan(64), stop.get_token()),
            engine::Runtime::Trouble::stopped);
  runtime->tree().release(std::move(sequence));
  int reused = 0;
  const auto warm = logits_of(*runtime, ids, true, &reused);
  EXPECT_EQ(reused, 64);  // what was finished is kept
  const auto cold = logits_of(*runtime, ids, false);
  EXPECT_EQ(std::memcmp(warm.data(), cold.data(), warm.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, Reuse, testing::ValuesIn(test::backends_and_guarded()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace foretoken

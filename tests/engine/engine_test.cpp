// The engine as its callers see it: one answer per request, whatever happens to it.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <random>

#include "tests/support/models.h"

namespace foretoken::engine {
namespace {

/// On the best backend, and on one whose memory the engine must never touch.
class EngineTest : public testing::TestWithParam<std::string> {
 protected:
  EngineTest() : engine_(test::load(test::pocket_path(), {.backend = GetParam()})) {}

  static Request request(const std::string& marked, const std::string& document = "a.py") {
    Request r;
    r.document = r.path = document;
    r.cursor = marked.find('^');
    std::string text = marked;
    text.erase(r.cursor, 1);
    r.text = std::make_shared<const std::string>(std::move(text));
    r.max_tokens = 8;
    return r;
  }
  Completion complete(Request r) {
    std::promise<Completion> answered;
    engine_.submit(std::move(r), [&](Completion c) { answered.set_value(std::move(c)); });
    return answered.get_future().get();
  }

  Engine engine_;
};

const char kText[] = "def area(width, height):\n    \"\"\"Area of a rectangle.\"\"\"\n    return wid^\n\n\nprint(area(3, 4))\n";

TEST_P(EngineTest, AnswersWithItsCost) {
  const Completion c = complete(request(kText));
  EXPECT_EQ(c.error, "");
  EXPECT_TRUE(c.text.starts_with("th")) << c.text;
  EXPECT_EQ(c.timings.prompt_tokens, c.timings.reused_tokens + c.timings.new_tokens);
  EXPECT_GT(c.timings.output_tokens, 0);
  EXPECT_GT(c.timings.ttft_ms, 0);
}

TEST_P(EngineTest, ATypedCharacterCostsAFewTokens) {
  complete(request(kText));
  std::string text = kText;
  for (const char c : std::string("th * h")) {
    text.insert(text.find('^'), 1, c);
    const Completion answer = complete(request(text));
    EXPECT_LE(answer.timings.new_tokens, 6) << text;
    EXPECT_GT(answer.timings.reused_tokens, 30);
  }
}

TEST_P(EngineTest, ReuseAndNoReuseSayTheSame) {
  std::string text = kText;
  const int every = GetParam() == "guarded" ? 12 : 1;  // plain loops take their time
  int typed = 0;
  for (const char c : std::string("th * height\n\n\ndef f(x):\n    return ")) {
    text.insert(text.find('^'), 1, c);
    if (typed++ % every != 0) continue;
    Request warm = request(text), cold = request(text);
    cold.reuse = false;
    EXPECT_EQ(complete(warm).text, complete(cold).text) << text;
  }
}

TEST_P(EngineTest, ShowsThePromptItUsed) {
  Request r = request(kText);
  r.want_prompt = r.want_card = true;
  const Completion c = complete(r);
  EXPECT_TRUE(c.prompt.starts_with("<|file_sep|>a.py\n<|fim_prefix|>")) << c.prompt;
  EXPECT_TRUE(c.prompt.ends_with("\n    return")) << c.prompt;  // " wid" is healed
  int tokens = 0;
  for (const CardRow& row : c.card) tokens += row.tokens;
  EXPECT_GT(tokens, 30);
}

TEST_P(EngineTest, TextOfTheFileNeverBecomesAControlToken) {
  Request r = request("# <|fim_middle|><|endoftext|>\nx = ^\n");
  r.want_prompt = true;
  const Completion c = complete(r);
  // The prompt as text holds the words; as ids they are many ordinary tokens, not one.
  EXPECT_GT(c.timings.prompt_tokens, 15);
}

TEST_P(EngineTest, ANewerRequestSupersedesTheOlderOfItsDocument) {
  std::atomic<int> answers = 0;
  std::promise<Completion> first, second;
  Request slow = request(std::string(2000, '#') + "\n^");
  slow.max_tokens = 64;
  engine_.submit(std::move(slow), [&](Completion c) { ++answers, first.set_value(std::move(c)); });
  engine_.submit(request(kText), [&](Completion c) { ++answers, second.set_value(std::move(c)); });
  EXPECT_EQ(second.get_future().get().error, "");
  first.get_future().get();
  EXPECT_EQ(answers, 2);
}

TEST_P(EngineTest, EveryRequestIsAnsweredOnceUnderCancellation) {
  constexpr int kRequests = 400;
  std::vector<std::atomic<int>> answered(kRequests);
  std::latch all(kRequests);
  std::mt19937 random(3);
  std::vector<Engine::Ticket> tickets;
  for (int i = 0; i < kRequests; ++i) {
    Request r = request(kText, "doc" + std::to_string(random() % 5));
    r.max_tokens = 3;
    tickets.push_back(engine_.submit(std::move(r), [&, i](Completion) {
      ++answered[size_t(i)];
      all.count_down();
    }));
    if (random() % 2) engine_.cancel(tickets[random() % tickets.size()]);
    if (random() % 8 == 0) engine_.cancel(999999);
  }
  all.wait();
  for (const auto& count : answered) EXPECT_EQ(count, 1);
}

/// Guesses about what comes next are computed while nobody types, and leave no mark on the layout.
TEST_P(EngineTest, GuessesChangeNothing) {
  Request guess = request(std::string(kText) + "\nprint(^)\n");
  std::string text = guess.text->substr(0, guess.cursor);
  guess.priority = Priority::idle;
  Engine plain(test::load(test::pocket_path(), {.backend = GetParam()}), {.replay = true});
  Engine guessing(test::load(test::pocket_path(), {.backend = GetParam()}), {.replay = true});
  const auto ask = [](Engine& engine, Request r) {
    std::promise<Completion> answered;
    engine.submit(std::move(r), [&](Completion c) { answered.set_value(std::move(c)); });
    return answered.get_future().get();
  };
  for (const char* marked : {kText, "def area(width, height):\n    return width^\n"}) {
    Request r = request(marked);
    r.want_hashes = r.want_prompt = true;
    const Completion a = ask(plain, r), b = ask(guessing, r);
    EXPECT_EQ(a.prompt, b.prompt);
    EXPECT_EQ(a.hashes, b.hashes);
    ask(guessing, guess);
  }
}

TEST_P(EngineTest, WithoutAnIdleBudgetNothingIsGuessed) {
  Engine engine(test::load(test::pocket_path(), {.backend = GetParam()}), {.idle_budget = {}});
  Request guess = request(kText);
  guess.priority = Priority::idle;
  std::promise<Completion> answered;
  engine.submit(std::move(guess), [&](Completion c) { answered.set_value(std::move(c)); });
  EXPECT_EQ(answered.get_future().get().finish, Finish::cancelled);
}

TEST_P(EngineTest, EndsWithOpenRequestsAnswered) {
  std::atomic<int> answers = 0;
  {
    Engine engine(test::load(test::pocket_path(), {.backend = GetParam()}));
    for (int i = 0; i < 20; ++i) {
      engine.submit(request(kText, std::to_string(i)), [&](Completion) { ++answers; });
    }
  }
  EXPECT_EQ(answers, 20);
}

INSTANTIATE_TEST_SUITE_P(Backends, EngineTest, testing::Values("auto", "guarded"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace foretoken::engine

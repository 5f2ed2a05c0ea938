// Who runs, who waits, who is answered by what runs: without a model, the test is the engine thread.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

namespace foretoken::engine {
namespace {

class SchedulerTest : public testing::Test {
 protected:
  /// "a.py" and "foo(^)" -> a request.
  static Request request(std::string marked, Priority priority = Priority::typing,
                         const std::string& document = "a.py") {
    Request r;
    r.document = document;
    r.cursor = marked.find('^');
    marked.erase(r.cursor, 1);
    r.text = std::make_shared<const std::string>(std::move(marked));
    r.priority = priority;
    return r;
  }
  /// Submits; the answer lands in answers[name].
  Scheduler::Ticket ask(const std::string& name, Request r) {
    return scheduler.submit(std::move(r), [this, name](Completion c) { answers[name].push_back(std::move(c)); });
  }
  std::shared_ptr<Scheduler::Run> next(bool settle_due = false) {
    auto next = scheduler.next(never, settle_due);
    return next ? next->run : nullptr;
  }
  static Completion text(std::string words) { return {.text = std::move(words)}; }
  const Completion& answer(const std::string& name) {
    EXPECT_EQ(answers[name].size(), 1u) << name;
    static const Completion none;
    return answers[name].empty() ? none : answers[name].front();
  }

  Scheduler scheduler;
  std::map<std::string, std::vector<Completion>> answers;
  std::stop_token never;
};

TEST_F(SchedulerTest, WhatIsInFlightAnswersWhoTypesOn) {
  ask("old", request("fo^"));
  const auto run = next();
  EXPECT_TRUE(scheduler.wants(*run, "o("));
  ask("new", request("foo^"));
  EXPECT_EQ(answer("old").finish, Finish::cancelled);
  EXPECT_EQ(answer("old").cancelled_at, Stage::prefill);
  EXPECT_TRUE(scheduler.wants(*run, "o(bar"));
  EXPECT_FALSE(run->stop.stop_requested());
  scheduler.finish(run, text("o(bar)"));
  EXPECT_EQ(answer("new").text, "o(bar)");
  EXPECT_EQ(answer("new").typed, "o");
  EXPECT_EQ(answer("new").source, Source::in_flight);
}

struct Typed {
  const char* what;
  const char* before;
  const char* output;  // so far
  const char* after;
  bool goes_on;
};
const Typed kTyped[] = {
    {"nothing decoded yet", "fo^", "", "foo^", true},
    {"the output's beginning", "fo^", "o(bar)", "foo(^", true},
    {"with a bracket the editor closed", "fo^", "o(bar)", "foo(^)", true},
    {"with a brace the editor closed and moved down", "if x ^\nend", "{\n  y", "if x {^\n}\nend", true},
    {"something else", "fo^", "o(bar)", "fox^", false},
    {"further than decoded, and it agrees", "fo^", "o", "foo(^", true},
    {"a backspace", "fo^", "o", "f^", false},
    {"an edit below", "fo^\nend", "o", "foo^\nEND", false},
    {"an edit above", "# a\nfo^", "o", "# b\nfoo^", false},
    {"a jump", "fo^\nend", "o", "fo\nend^", false},
};

TEST_F(SchedulerTest, ARunGoesOnOnlyWhileItAgrees) {
  for (const Typed& c : kTyped) {
    answers.clear();
    ask("old", request(c.before));
    const auto run = next();
    if (*c.output) {
      EXPECT_TRUE(scheduler.wants(*run, c.output)) << c.what;
    }
    ask("new", request(c.after));
    EXPECT_EQ(answers["old"].size(), 1u) << c.what;
    EXPECT_EQ(run->stop.stop_requested(), !c.goes_on) << c.what;
    scheduler.finish(run, {.text = c.output, .finish = Finish::cancelled});
    const auto again = next();  // whoever is not answered is computed
    ASSERT_TRUE(again);
    scheduler.finish(again, text("done"));
    EXPECT_EQ(answer("new").text, "done") << c.what;
    EXPECT_EQ(answer("new").source, Source::engine) << c.what;
  }
}

TEST_F(SchedulerTest, OutputThatTurnsElsewhereIsGivenUpAtThatToken) {
  ask("old", request("x = ^"));
  const auto run = next();
  ask("new", request("x = f^"));
  EXPECT_TRUE(scheduler.wants(*run, "fo"));
  ask("newer", request("x = fa^"));
  EXPECT_TRUE(run->stop.stop_requested() || !scheduler.wants(*run, "foo"));
  scheduler.finish(run, {.finish = Finish::cancelled});
  const auto again = next();
  EXPECT_EQ(*again->request.text, "x = fa");
  scheduler.finish(again, text("b"));
  EXPECT_EQ(answer("newer").text, "b");
  EXPECT_EQ(answers["new"].size(), 1u);
}

TEST_F(SchedulerTest, TypedFurtherThanTheRunGoesMeansComputedAnew) {
  ask("old", request("fo^"));
  const auto run = next();
  ask("new", request("foo()^"));
  scheduler.finish(run, text("o()"));
  EXPECT_TRUE(answers["new"].empty());
  const auto again = next();
  scheduler.finish(again, text(" + 1"));
  EXPECT_EQ(answer("new").text, " + 1");
}

TEST_F(SchedulerTest, ACancelledRunGoesOnForTheNextKey) {
  const auto ticket = ask("old", request("fo^"));
  const auto run = next();
  scheduler.cancel(ticket);
  scheduler.cancel(ticket);
  EXPECT_EQ(answer("old").finish, Finish::cancelled);
  EXPECT_FALSE(run->stop.stop_requested());
  scheduler.finish(run, text("o(bar)"));
  ask("new", request("foo^"));
  EXPECT_EQ(answer("new").text, "o(bar)");
  EXPECT_EQ(answer("new").typed, "o");
  EXPECT_EQ(answer("new").source, Source::in_flight);
}

TEST_F(SchedulerTest, ACancelledRunStopsForAnotherDocument) {
  const auto ticket = ask("a", request("fo^"));
  const auto run = next();
  scheduler.cancel(ticket);
  ask("b", request("x^", Priority::typing, "b.py"));
  EXPECT_TRUE(run->stop.stop_requested());
}

TEST_F(SchedulerTest, TypingGoesBeforeIdleWorkAndThatBeforeScripts) {
  ask("script", request("s^", Priority::background, "s.py"));
  ask("ahead", request("i^", Priority::idle, "i.py"));
  const auto script_or_ahead = next();
  EXPECT_EQ(script_or_ahead->request.document, "i.py");
  ask("typing", request("t^", Priority::typing, "t.py"));
  EXPECT_TRUE(script_or_ahead->stop.stop_requested());
  scheduler.finish(script_or_ahead, {.finish = Finish::cancelled});
  EXPECT_TRUE(answers["ahead"].empty());  // taken up again later
  std::vector<std::string> order;
  for (int i = 0; i < 3; ++i) {
    const auto run = next();
    order.push_back(run->request.document);
    scheduler.finish(run, text("x"));
  }
  EXPECT_EQ(order, (std::vector<std::string>{"t.py", "i.py", "s.py"}));
}

TEST_F(SchedulerTest, AKeyStopsIdleWorkAndTheGuessesOfItsDocument) {
  const auto settling = next(/*settle_due=*/true);
  ASSERT_TRUE(settling->settle);
  ask("key", request("k^", Priority::typing, "k.py"));
  EXPECT_TRUE(settling->stop.stop_requested());
  scheduler.finish(settling, {});
  ask("guess", request("key^", Priority::idle, "k.py"));  // while someone types there
  EXPECT_EQ(answer("guess").finish, Finish::cancelled);
}

TEST_F(SchedulerTest, AnAcceptedGuessInFlightBecomesTheAnswer) {
  ask("guess", request("foo()^", Priority::idle));
  const auto run = next();
  ask("key", request("foo()^"));
  EXPECT_FALSE(run->stop.stop_requested());
  scheduler.finish(run, text(" + 1"));
  EXPECT_EQ(answer("key").text, " + 1");
  EXPECT_EQ(answer("guess").finish, Finish::cancelled);
}

TEST_F(SchedulerTest, AGuessGivenUpIsNoAnswer) {
  ask("guess", request("foo()^", Priority::idle));
  scheduler.give_up(next(), "the idle budget is spent");
  EXPECT_EQ(answer("guess").finish, Finish::cancelled);
  ask("guess again", request("foo()^", Priority::idle));
  const auto run = next();
  ask("key", request("foo()^"));
  scheduler.give_up(run, "the idle budget is spent");
  scheduler.finish(next(), text(" + 1"));
  EXPECT_EQ(answer("key").text, " + 1");
}

TEST_F(SchedulerTest, TextAskedFromColumnZeroAgreesWithItsIndentation) {
  ask("old", request("if x:\n    ^"));
  const auto run = next();
  scheduler.from_line_start(*run, "    ");
  ask("new", request("if x:\n    r^"));
  EXPECT_TRUE(scheduler.wants(*run, "    re"));
  scheduler.finish(run, {.text = "    return", .from_line_start = true});
  EXPECT_EQ(answer("new").text, "    return");
  EXPECT_EQ(answer("new").typed, "r");
  EXPECT_TRUE(answer("new").from_line_start);
}

TEST_F(SchedulerTest, TextAskedFromColumnZeroMayHaveAnotherIndentation) {
  ask("only", request("if x:\n    y\n    ^"));
  const auto run = next();
  scheduler.from_line_start(*run, "    ");
  EXPECT_TRUE(scheduler.wants(*run, "else:"));
  scheduler.finish(run, {.text = "else:", .from_line_start = true});
  EXPECT_EQ(answer("only").text, "else:");
}

TEST_F(SchedulerTest, RequestsThatWantOtherThingsAreNotTakenOver) {
  ask("old", request("fo^"));
  const auto run = next();
  Request no_cache = request("foo^");
  no_cache.reuse = false;
  ask("new", std::move(no_cache));
  EXPECT_TRUE(run->stop.stop_requested());
  scheduler.finish(run, {.finish = Finish::cancelled});
  EXPECT_FALSE(next()->request.reuse);
}

TEST_F(SchedulerTest, ObservedRequestsComeBeforeTheNextRun) {
  scheduler.observe(request("a^"));
  ask("b", request("ab^"));
  const auto next = scheduler.next(never, false);
  ASSERT_EQ(next->seen.size(), 1u);
  EXPECT_EQ(*next->seen.front().text, "a");
  ASSERT_TRUE(next->run);
}

TEST_F(SchedulerTest, ClosingAnswersEverything) {
  ask("runs", request("a^", Priority::typing, "a"));
  const auto run = next();
  ask("waits", request("b^", Priority::typing, "b"));
  scheduler.close();
  ask("late", request("c^", Priority::typing, "c"));
  scheduler.finish(run, text("x"));
  for (const char* name : {"runs", "waits", "late"}) EXPECT_EQ(answer(name).finish, Finish::cancelled) << name;
}

/// Every submit is answered exactly once, whatever order things happen in.
TEST_F(SchedulerTest, AnswersOnceUnderRandomUseFromTwoThreads) {
  std::atomic<int> answered = 0;
  std::atomic<bool> ended = false;
  std::jthread engine([&](std::stop_token stop) {
    std::mt19937 random(1);
    while (auto next = scheduler.next(stop, random() % 8 == 0)) {
      if (!next->run) continue;
      const auto run = next->run;
      std::string output;
      bool wanted = true;
      for (int i = 0; i < 4 && wanted && !run->settle; ++i) {
        output += char('a' + random() % 2);
        wanted = scheduler.wants(*run, output);
      }
      const bool whole = wanted && !run->stop.stop_requested();
      scheduler.finish(run, {.text = output, .finish = whole ? Finish::stop : Finish::cancelled});
    }
    ended = true;
  });
  std::mt19937 random(2);
  constexpr int kRequests = 20000;
  std::map<std::string, std::string> texts;
  std::vector<Scheduler::Ticket> tickets;
  for (int i = 0; i < kRequests; ++i) {
    const std::string document = std::string(1, char('a' + random() % 3));
    std::string& text = texts[document];
    if (random() % 3 == 0 || text.size() > 12) text.clear();
    text += char('a' + random() % 2);
    Request r = request(text + "^", Priority(random() % 3), document);
    tickets.push_back(scheduler.submit(std::move(r), [&](Completion) { ++answered; }));
    if (random() % 3 == 0) scheduler.cancel(tickets[random() % tickets.size()]);
    if (random() % 5 == 0) scheduler.observe(request(text + "^", Priority::typing, document));
  }
  scheduler.close();
  engine.request_stop();
  engine.join();
  EXPECT_EQ(answered, kRequests);
}

}  // namespace
}  // namespace foretoken::engine

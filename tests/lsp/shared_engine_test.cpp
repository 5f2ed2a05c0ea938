// Several processes' worth of shared engines in one process: who owns, who attaches, who takes over.
#include "lsp/shared_engine.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/shared_processes.h"

namespace foretoken::lsp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

TEST_F(SharedEngineTest, TheFirstOwnsAndTheOthersAttach) {
  const auto first = start("first");
  first->wait();
  const auto second = start("second"), third = start("third");
  second->wait();
  EXPECT_EQ(second->engine->model_name(), "first");
  EXPECT_EQ(first->ask("x"), "first|a|0|x");
  EXPECT_EQ(second->ask("y"), "first|a|0|y");
  EXPECT_EQ(second->ask("yz"), "first|a|0|yz");
  EXPECT_EQ(third->ask("z"), "first|a|0|z");
  second->engine->observe(a_request("seen"));
  second->engine->account({});
  EXPECT_TRUE(first->fake->wait_for_costs(1));
  EXPECT_EQ(*first->fake->observed().at(0).text, "seen");
  EXPECT_EQ(first->loads + second->loads + third->loads, 1);
  EXPECT_THAT(second->lines(), IsEmpty());
}

TEST_F(SharedEngineTest, OfManyWhoStartAtOnceOneLoads) {
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<Process>> processes;
    for (int i = 0; i < 8; ++i) processes.push_back(start(std::to_string(i)));
    int loads = 0;
    for (const auto& process : processes) {
      process->wait();
      loads += process->loads;
      EXPECT_THAT(process->lines(), IsEmpty());
    }
    EXPECT_EQ(loads, 1);
    const std::string answer = processes[0]->ask("x");
    for (const auto& process : processes) EXPECT_EQ(process->ask("x"), answer);
  }
}

TEST_F(SharedEngineTest, CancelIsAnsweredWithTheStage) {
  const auto owner = start("owner", true);
  owner->wait();
  const auto other = start("other");
  other->wait();
  for (Process* process : {owner.get(), other.get()}) {
    Answered answer;
    const auto ticket = process->engine->submit(a_request("x"), answer.done());
    process->engine->cancel(ticket);
    const engine::Completion completion = answer.get();
    EXPECT_EQ(completion.finish, engine::Finish::cancelled);
    process->engine->cancel(ticket);
    process->engine->cancel(12345);
    Answered next;
    process->engine->cancel(process->engine->submit(a_request("y"), next.done()));
    EXPECT_EQ(next.get().finish, engine::Finish::cancelled);
    EXPECT_EQ(answer.count(), 1);
  }
  Answered waits;
  const auto ticket = other->engine->submit(a_request("x", "b"), waits.done());
  while (owner->fake->requests().empty() || owner->fake->requests().back().document.find(":b") == std::string::npos) {
    std::this_thread::yield();
  }
  other->engine->cancel(ticket);
  EXPECT_EQ(waits.get().cancelled_at, engine::Stage::decode);
}

/// The owner ends in the middle of a request; the client sees one answer, the new engine's.
TEST_F(SharedEngineTest, WhenTheOwnerEndsAnotherTakesOverAndAsksAgain) {
  auto first = start("first", true);
  first->wait();
  const auto second = start("second"), third = start("third");
  second->wait();
  third->wait();
  std::vector<Answered> answers(6);
  for (size_t i = 0; i < answers.size(); ++i) {
    Process& process = i % 2 == 0 ? *second : *third;
    process.engine->submit(a_request("text", std::to_string(i)), answers[i].done());
  }
  ASSERT_TRUE(first->fake->wait_for_requests(answers.size()));
  first.reset();
  std::string owner;
  for (size_t i = 0; i < answers.size(); ++i) {
    const engine::Completion completion = answers[i].get();
    EXPECT_EQ(completion.finish, engine::Finish::stop);
    EXPECT_THAT(completion.text, HasSubstr("|" + std::to_string(i) + "|0|text"));
    owner = completion.text.substr(0, completion.text.find('|'));
    EXPECT_EQ(answers[i].count(), 1);
  }
  EXPECT_EQ(second->loads + third->loads, 1);
  EXPECT_EQ(second->engine->model_name(), owner);
  EXPECT_EQ(third->engine->model_name(), owner);
  EXPECT_THAT(second->lines(), IsEmpty());
}

/// From owner to owner, with something open each time.
TEST_F(SharedEngineTest, OwnersMayComeAndGo) {
  auto owner = start("0", true);
  owner->wait();
  const auto client = start("client", false, [&] {
    Sharing it = sharing();
    it.patience.again = 1ms;
    it.patience.hello = 60s;  // another is always about to own
    it.may_own = true;
    return it;
  }());
  client->wait();
  Answered answer;
  client->engine->submit(a_request("x"), answer.done());
  ASSERT_TRUE(owner->fake->wait_for_requests(1));
  owner.reset();
  EXPECT_EQ(answer.get().text, "client|a|0|x");
  const auto late = start("late");
  EXPECT_EQ(late->ask("y"), "client|a|0|y");  // the client serves now
  EXPECT_EQ(late->loads, 0);
}

TEST_F(SharedEngineTest, EndingAnswersWhatIsOpen) {
  auto owner = start("owner", true);
  owner->wait();
  auto other = start("other");
  other->wait();
  Answered attached, own, status;
  other->engine->submit(a_request("x"), attached.done());
  owner->engine->submit(a_request("y"), own.done());
  ASSERT_TRUE(owner->fake->wait_for_requests(2));
  other->engine.reset();
  EXPECT_EQ(attached.get().finish, engine::Finish::cancelled);
  owner->fake.reset();  // the engine's last other holder
  owner->engine.reset();
  EXPECT_EQ(own.get().finish, engine::Finish::cancelled);
}

TEST_F(SharedEngineTest, AnotherVersionGetsItsOwn) {
  const auto owner = start("owner");
  owner->wait();
  Sharing newer = sharing();
  newer.version = "2";
  const auto other = start("other", false, newer);
  EXPECT_EQ(other->ask("x"), "other|a|0|x");
  EXPECT_THAT(other->lines(), ElementsAre(AllOf(HasSubstr("is version 1, this one 2"),
                                                HasSubstr("loads the model for itself"))));
}

TEST_F(SharedEngineTest, AFolderThatCannotBeUsedMeansAnOwnEngine) {
  temp_.write("run", "a file");
  const auto process = start("own");
  EXPECT_EQ(process->ask("x"), "own|a|0|x");
  EXPECT_THAT(process->lines(), ElementsAre(HasSubstr("is a symbolic link or no folder")));
}

TEST_F(SharedEngineTest, OneThatMayNotOwnAttachesOrKeepsToItself) {
  Sharing guest = sharing();
  guest.may_own = false;
  {
    const auto alone = start("alone", false, guest);
    EXPECT_EQ(alone->ask("x"), "alone|a|0|x");
    EXPECT_THAT(alone->lines(), IsEmpty());
    EXPECT_THAT(SharePlace::keys(temp_ / "run"), IsEmpty());
  }
  const auto owner = start("owner");
  owner->wait();
  const auto attached = start("attached", false, guest);
  EXPECT_EQ(attached->ask("x"), "owner|a|0|x");
}

TEST_F(SharedEngineTest, AModelThatCannotLoadIsToldAndTriedAgain) {
  std::atomic<bool> there = false;
  const auto fake = std::make_shared<FakeEngine>("found");
  SharedEngine engine(
      sharing(),
      [&]() -> std::shared_ptr<EngineLink> {
        if (!there) throw std::runtime_error("model.gguf is not there");
        return fake;
      },
      [](const std::string&) {});
  try {
    engine.wait({});
    ADD_FAILURE() << "loaded";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "model.gguf is not there");
  }
  Answered failed;
  engine.submit(a_request("x"), failed.done());
  EXPECT_EQ(failed.get().error, "model.gguf is not there");
  there = true;
  std::string text, why;
  for (int i = 0; i < 3 && text.empty(); ++i) {  // the first may still find what failed before
    Answered found;
    engine.submit(a_request("x"), found.done());
    const engine::Completion completion = found.get();
    text = completion.text;
    why += completion.error + "; ";
  }
  EXPECT_EQ(text, "found|a|0|x") << why;
}

TEST_F(SharedEngineTest, StatusIsTheOwners) {
  const auto owner = start("owner"), other = start("other");
  owner->wait();
  other->wait();
  for (Process* process : {owner.get(), other.get()}) {
    std::promise<std::string> told;
    process->engine->status([&](const std::string& json) { told.set_value(json); });
    const auto json = nlohmann::json::parse(told.get_future().get());
    EXPECT_EQ(json["model"], owner->loads == 1 ? "owner" : "other");
    EXPECT_EQ(json["clients"].size(), 1u);
    EXPECT_EQ(json["shared"], true);
  }
}

/// Many requests from many threads while owners change: each answered once.
TEST_F(SharedEngineTest, EveryRequestIsAnsweredOnceWhileOwnersChange) {
  std::vector<std::unique_ptr<Process>> owners;
  owners.push_back(start("0"));
  owners.back()->wait();
  const auto client = start("client");
  client->wait();
  std::vector<Answered> answers(400);
  std::thread asker([&] {
    for (size_t i = 0; i < answers.size(); ++i) {
      const auto ticket = client->engine->submit(a_request("x", std::to_string(i % 7)), answers[i].done());
      if (i % 5 == 0) client->engine->cancel(ticket);
    }
  });
  owners.push_back(start("1"));  // attached, or the next owner
  owners.front().reset();
  asker.join();
  for (Answered& answer : answers) {
    EXPECT_EQ(answer.get().error, "");
    EXPECT_EQ(answer.count(), 1);
  }
}

}  // namespace
}  // namespace foretoken::lsp

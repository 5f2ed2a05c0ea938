// Several processes' worth of shared engines in one process: who owns, who attaches, who takes over.
#include "lsp/shared_engine.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/fake_engine.h"
#include "tests/support/share_peer.h"
#include "tests/support/temp_folder.h"

namespace foretoken::lsp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

engine::Request a_request(const std::string& text, const std::string& document = "a") {
  engine::Request request;
  request.document = document;
  request.text = std::make_shared<std::string>(text);
  return request;
}

/// An answer that comes some time, and whether it came once. Thread-safe.
class Answered {
 public:
  EngineLink::Done done() {
    return [this](engine::Completion completion) {
      if (++count_ == 1) promise_.set_value(std::move(completion));
    };
  }
  engine::Completion get() {
    if (future_.wait_for(60s) != std::future_status::ready) return {.error = "no answer"};
    return future_.get();
  }
  int count() const { return count_; }

 private:
  std::atomic<int> count_ = 0;
  std::promise<engine::Completion> promise_;
  std::future<engine::Completion> future_ = promise_.get_future();
};

class SharedEngineTest : public testing::Test {
 protected:
  /// One process: what it would load, and what it said.
  struct Process {
    std::shared_ptr<FakeEngine> fake;
    std::vector<std::string> said;
    std::atomic<int> loads = 0;
    std::mutex mutex;
    std::unique_ptr<SharedEngine> engine;  // last: ends first

    std::vector<std::string> lines() {
      const std::lock_guard lock(mutex);
      return said;
    }
    void wait() { engine->wait({}); }
    std::string ask(const std::string& text) {
      Answered answer;
      engine->submit(a_request(text), answer.done());
      const engine::Completion completion = answer.get();
      return completion.error.empty() ? completion.text : completion.error;
    }
  };

  Sharing sharing() {
    return {.folder = temp_ / "run", .key = "k", .version = "1", .name = "test", .user = ::geteuid()};
  }
  std::unique_ptr<Process> start(const std::string& name, bool gate_closed = false) {
    return start(name, gate_closed, sharing());
  }
  std::unique_ptr<Process> start(const std::string& name, bool gate_closed, Sharing sharing) {
    auto process = std::make_unique<Process>();
    process->fake = std::make_shared<FakeEngine>(name, gate_closed);
    process->engine = std::make_unique<SharedEngine>(
        std::move(sharing),
        [process = process.get()]() -> std::shared_ptr<EngineLink> {
          ++process->loads;
          return process->fake;
        },
        [process = process.get()](const std::string& line) {
          const std::lock_guard lock(process->mutex);
          process->said.push_back(line);
        });
    return process;
  }

  const test::TempFolder temp_;
};

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

/// Owners in the hands of the test.
class FalseOwner : public SharedEngineTest {
 protected:
  void SetUp() override {
    place_.emplace(temp_ / "run", "k", ::geteuid());
    ownership_ = place_->try_own();
    listening_ = ownership_->listen();
  }
  SharePeer accept() {
    pollfd ready{listening_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, SharePeer::kPatienceMs), 1);
    return SharePeer(Fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  }
  std::unique_ptr<Process> start_impatient() {
    Sharing it = sharing();
    it.patience = {.hello = 50ms, .ping = 5ms, .pings = 5, .again = 1ms};
    return start("own", false, it);
  }
  std::optional<SharePlace> place_;
  std::unique_ptr<Ownership> ownership_;
  Fd listening_;
};

TEST_F(FalseOwner, ThatNeverAcceptsIsGivenUp) {
  const auto process = start_impatient();
  EXPECT_EQ(process->ask("x"), "own|a|0|x");
  EXPECT_THAT(process->lines(), ElementsAre(HasSubstr("does not answer")));
}

TEST_F(FalseOwner, ThatHoldsTheLockAndDoesNotListenIsGivenUp) {
  listening_ = Fd();
  const auto process = start_impatient();
  EXPECT_EQ(process->ask("x"), "own|a|0|x");
  EXPECT_THAT(process->lines(), ElementsAre(HasSubstr("takes no connections")));
}

TEST_F(FalseOwner, ThatSaysGarbageIsGivenUp) {
  const auto process = start_impatient();
  SharePeer peer = accept();
  peer.write("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_EQ(process->ask("x"), "own|a|0|x");
  EXPECT_THAT(process->lines(), ElementsAre(HasSubstr("says what it may not")));
}

TEST_F(FalseOwner, ThatSaysWhatOnlyClientsSayIsGivenUp) {
  const auto process = start_impatient();
  SharePeer peer = accept();
  peer.greet();
  peer.send(share::Cancel{1});
  EXPECT_EQ(process->ask("x"), "own|a|0|x");
  EXPECT_THAT(process->lines(), ElementsAre(HasSubstr("says what only others say")));
}

TEST_F(FalseOwner, ThatSendsUsAwayIsGivenUp) {
  const auto process = start_impatient();
  SharePeer peer = accept();
  peer.send(share::Refused{"full"});
  EXPECT_EQ(process->ask("x"), "own|a|0|x");
  EXPECT_THAT(process->lines(), ElementsAre(HasSubstr("sends us away: full")));
}

/// As a stopped process: it has greeted and been given work, and then nothing comes.
TEST_F(FalseOwner, ThatFallsSilentWithWorkInHandIsGivenUp) {
  const auto process = start_impatient();
  SharePeer peer = accept();
  peer.greet();
  peer.send(share::Ready{"theirs", "none"});
  process->wait();
  EXPECT_EQ(process->engine->model_name(), "theirs");
  Answered answer;
  process->engine->submit(a_request("x"), answer.done());
  EXPECT_EQ(answer.get().text, "own|a|0|x");
  EXPECT_EQ(answer.count(), 1);
  EXPECT_THAT(process->lines(), ElementsAre(HasSubstr("does not answer")));
  EXPECT_EQ(process->ask("y"), "own|a|0|y");
}

/// Silent only between requests, or slow but alive: no reason to leave it.
TEST_F(FalseOwner, ThatIsSlowAndAliveIsKept) {
  const auto process = start_impatient();
  SharePeer peer = accept();
  peer.greet();
  for (int i = 0; i < 10; ++i) {  // while it loads, too
    ASSERT_TRUE(peer.receive_a<share::Ping>());
    peer.send(share::Pong{});
  }
  peer.send(share::Ready{"theirs", "none"});
  process->wait();
  Answered answer;
  process->engine->submit(a_request("x"), answer.done());
  const auto submit = peer.receive_a<share::Submit>();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(peer.receive_a<share::Ping>());
    peer.send(share::Pong{});
  }
  peer.send(share::Answer{submit->id, {.text = "slow"}});
  peer.send(share::Answer{submit->id, {.text = "twice"}});
  peer.send(share::Answer{submit->id + 5, {.text = "never asked"}});
  EXPECT_EQ(answer.get().text, "slow");
  EXPECT_EQ(answer.count(), 1);
  EXPECT_THAT(process->lines(), IsEmpty());
  EXPECT_EQ(process->loads, 0);
}

/// A request that its owners die of is not given to everybody in turn.
TEST_F(FalseOwner, ARequestThatOwnersDieOfIsGivenUp) {
  Sharing guest = sharing();
  guest.may_own = false;
  const auto process = start("own", false, guest);
  Answered answer;
  for (int i = 0; i < 5; ++i) {
    SharePeer peer = accept();
    peer.greet();
    peer.send(share::Ready{"theirs", "none"});
    if (i == 0) process->engine->submit(a_request("x"), answer.done());
    ASSERT_TRUE(peer.receive_a<share::Submit>()) << i;
  }
  EXPECT_THAT(answer.get().error, HasSubstr("ended 5 times"));
  EXPECT_EQ(answer.count(), 1);
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

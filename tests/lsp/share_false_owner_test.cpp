// Shared engines whose owner is not what it should be: an own engine is the answer to all of it.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>

#include "tests/support/share_peer.h"
#include "tests/support/shared_processes.h"

namespace foretoken::lsp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

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

}  // namespace
}  // namespace foretoken::lsp

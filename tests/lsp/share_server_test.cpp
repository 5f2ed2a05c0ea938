// The owner's side against peers of every kind.
#include "lsp/share_server.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/support/fake_engine.h"
#include "tests/support/share_peer.h"
#include "tests/support/temp_folder.h"

namespace foretoken::lsp {
namespace {

using testing::HasSubstr;

engine::Request a_request(const std::string& text, const std::string& document = "a") {
  engine::Request request;
  request.document = document;
  request.text = std::make_shared<std::string>(text);
  return request;
}

class ShareServerTest : public testing::Test {
 protected:
  void serve(ShareLimits limits = {}, uid_t user = ::geteuid()) {
    server_ = std::make_unique<ShareServer>(
        place_.try_own(), ShareServer::Setup{.version = "1", .name = "owner", .user = user, .limits = limits});
  }
  SharePeer connect() {
    Fd socket = place_.connect();
    EXPECT_TRUE(socket);
    return SharePeer(std::move(socket));
  }
  SharePeer attached() {
    SharePeer peer = connect();
    peer.greet();
    EXPECT_TRUE(peer.receive_a<share::Ready>());
    return peer;
  }
  /// A request with its whole text, as the first about a document is.
  static share::Submit submit(uint64_t id, const std::string& text, const std::string& document = "a") {
    return {id, a_request(text, document), {.middle = text}};
  }
  /// Still there, and answering others.
  void expect_alive() {
    SharePeer peer = attached();
    peer.send(share::Ping{3});
    EXPECT_TRUE(peer.receive_a<share::Pong>());
  }

  const test::TempFolder temp_;
  const SharePlace place_{temp_ / "run", "k", ::geteuid()};
  const std::shared_ptr<FakeEngine> engine_ = std::make_shared<FakeEngine>();
  std::unique_ptr<ShareServer> server_;
};

TEST_F(ShareServerTest, AnswersWhatIsAsked) {
  serve();
  server_->ready(engine_);
  SharePeer peer = connect();
  peer.greet();
  const auto hello = peer.receive_a<share::Hello>();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->pid, ::getpid());
  EXPECT_EQ(hello->version, "1");
  EXPECT_EQ(peer.receive_a<share::Ready>()->model, "fake");
  peer.send(submit(7, "text"));
  const auto answer = peer.receive_a<share::Answer>();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->id, 7u);
  EXPECT_EQ(answer->completion.text, "fake|a|0|text");
  share::Submit second{8, a_request(""), {.base = 1, .before = 4, .middle = "!"}};
  peer.send(second);
  EXPECT_EQ(peer.receive_a<share::Answer>()->completion.text, "fake|a|0|text!");
  peer.send(share::Observe{a_request(""), {.base = 2, .before = 2}});
  peer.send(share::Account{});
  EXPECT_TRUE(engine_->wait_for_costs(1));
  EXPECT_EQ(*engine_->observed().at(0).text, "te");
}

TEST_F(ShareServerTest, ClientsWaitForTheModel) {
  serve();
  SharePeer peer = connect();
  peer.greet();
  EXPECT_TRUE(peer.receive_a<share::Hello>());
  peer.send(share::Ping{1});
  EXPECT_TRUE(std::holds_alternative<share::Pong>(*peer.receive()));  // alive, not ready
  server_->ready(engine_);
  EXPECT_TRUE(peer.receive_a<share::Ready>());
}

TEST_F(ShareServerTest, AModelThatCannotLoadIsTold) {
  serve();
  SharePeer peer = connect();
  peer.greet();
  EXPECT_TRUE(peer.receive_a<share::Hello>());
  server_->refuse("no such file");
  EXPECT_EQ(peer.receive_a<share::Refused>()->why, "no such file");
  EXPECT_TRUE(peer.closed());
  SharePeer later = connect();
  later.greet();
  EXPECT_EQ(later.receive_a<share::Refused>()->why, "no such file");
}

TEST_F(ShareServerTest, AnotherVersionIsSentAway) {
  serve();
  server_->ready(engine_);
  SharePeer peer = connect();
  peer.greet("2");
  EXPECT_EQ(peer.receive_a<share::Hello>()->version, "1");
  EXPECT_THAT(peer.receive_a<share::Refused>()->why, HasSubstr("version 1"));
  EXPECT_TRUE(peer.closed());
  SharePeer protocol = connect();
  protocol.send(share::Hello{share::kProtocol + 1, "1", 1, ""});
  EXPECT_TRUE(protocol.receive_a<share::Refused>());
}

TEST_F(ShareServerTest, AnotherUserIsNotServed) {
  serve({}, 12345);
  server_->ready(engine_);
  SharePeer peer = connect();
  peer.greet();
  EXPECT_TRUE(peer.closed());
}

/// Two editors, one file name: neither supersedes the other.
TEST_F(ShareServerTest, DocumentsOfTwoClientsAreTwo) {
  const auto slow = std::make_shared<FakeEngine>("slow", true);
  serve();
  server_->ready(slow);
  SharePeer first = attached(), second = attached();
  first.send(submit(1, "one"));
  second.send(submit(1, "two"));
  ASSERT_TRUE(slow->wait_for_requests(2));
  slow->open_gate();
  EXPECT_EQ(first.receive_a<share::Answer>()->completion.text, "slow|a|0|one");
  EXPECT_EQ(second.receive_a<share::Answer>()->completion.text, "slow|a|0|two");
}

TEST_F(ShareServerTest, CancelledAndSupersededAreAnsweredOnce) {
  const auto slow = std::make_shared<FakeEngine>("slow", true);
  serve();
  server_->ready(slow);
  SharePeer peer = attached();
  peer.send(submit(1, "x"));
  peer.send(share::Submit{2, a_request(""), {.base = 1, .before = 1}});
  auto answer = peer.receive_a<share::Answer>();
  EXPECT_EQ(answer->id, 1u);
  EXPECT_EQ(answer->completion.finish, engine::Finish::cancelled);
  peer.send(share::Cancel{2});
  peer.send(share::Cancel{2});
  peer.send(share::Cancel{99});
  answer = peer.receive_a<share::Answer>();
  EXPECT_EQ(answer->id, 2u);
  EXPECT_EQ(answer->completion.cancelled_at, engine::Stage::decode);
  peer.send(share::Ping{1});
  EXPECT_TRUE(std::holds_alternative<share::Pong>(*peer.receive()));  // and nothing between
}

TEST_F(ShareServerTest, AClientThatGoesTakesItsRequestsAlong) {
  const auto slow = std::make_shared<FakeEngine>("slow", true);
  serve();
  server_->ready(slow);
  {
    SharePeer peer = attached();
    peer.send(submit(1, "x", "a"));
    peer.send(submit(2, "x", "b"));
    ASSERT_TRUE(slow->wait_for_requests(2));
  }
  EXPECT_TRUE(slow->wait_until_idle());
}

TEST_F(ShareServerTest, GarbageEndsItsConnectionAndNothingElse) {
  serve();
  server_->ready(engine_);
  SharePeer witness = attached();
  const auto framed = [](const std::string& body) { return frame_header(body.size()) + body; };
  std::vector<std::string> garbage = {
      "GET / HTTP/1.1\r\n\r\n",
      std::string(100'000, '\0'),
      "Content-Length: 99999999999\r\n\r\n",
      "Content-Length: 2000000000\r\n\r\n",
      framed(""),
      framed("{\"jsonrpc\":\"2.0\"}"),
      framed(std::string(1 << 20, '\x81')),
      framed(share::encode(share::Ping{1})),                    // before the greeting
      framed(share::encode(share::Submit{1, a_request("x"), {}})),
      framed(share::encode(share::Ready{})),                    // what an owner says
  };
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    std::string bytes(1 + random() % 2000, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    garbage.push_back(framed(bytes));
  }
  for (const std::string& bytes : garbage) {
    SharePeer peer = connect();
    peer.write(bytes);
    EXPECT_TRUE(peer.closed()) << bytes.substr(0, 40);
  }
  witness.send(submit(1, "still here"));
  EXPECT_EQ(witness.receive_a<share::Answer>()->completion.text, "fake|a|0|still here");
}

TEST_F(ShareServerTest, AGreetedClientIsStillChecked) {
  serve();
  server_->ready(engine_);
  engine::Request beyond = a_request("x"), open = a_request("x");
  beyond.cursor = 5;
  open.mode = engine::Mode::decide;
  const std::vector<share::Message> wrong = {
      share::Hello{share::kProtocol, "1", 1, "again"},
      share::Ready{},
      share::Answer{},
      share::Submit{1, beyond, {.middle = "x"}},
      share::Submit{1, open, {.middle = "x"}},
      share::Submit{1, a_request("x"), {.base = 4, .before = 2}},
      share::Observe{beyond, {.middle = "x"}},
  };
  for (const share::Message& message : wrong) {
    SharePeer peer = attached();
    peer.send(message);
    EXPECT_TRUE(peer.closed()) << message.index();
  }
  expect_alive();
}

TEST_F(ShareServerTest, WhoSaysNothingIsNotKept) {
  serve({.hello = std::chrono::milliseconds(20)});
  server_->ready(engine_);
  SharePeer silent = connect();
  EXPECT_TRUE(silent.closed());
  expect_alive();
}

TEST_F(ShareServerTest, ClientsAreLimited) {
  serve({.clients = 2});
  server_->ready(engine_);
  {
    SharePeer first = attached(), second = attached(), third = connect();
    third.greet();
    EXPECT_THAT(third.receive_a<share::Refused>()->why, HasSubstr("2 clients"));
    EXPECT_TRUE(third.closed());
  }
}

TEST_F(ShareServerTest, OpenRequestsAreLimited) {
  const auto slow = std::make_shared<FakeEngine>("slow", true);
  serve({.open_requests = 3});
  server_->ready(slow);
  SharePeer peer = attached();
  for (uint64_t id = 1; id <= 4; ++id) peer.send(submit(id, "x", std::to_string(id)));
  EXPECT_TRUE(peer.closed());
  EXPECT_TRUE(slow->wait_until_idle());
  SharePeer twice = attached();
  twice.send(submit(1, "x", "a"));
  twice.send(submit(1, "x", "b"));  // an id that is in use
  EXPECT_TRUE(twice.closed());
}

/// It asks and never reads: it is not read either, once enough waits for it, and nobody else notices.
TEST_F(ShareServerTest, AClientThatStopsReadingHoldsUpNobody) {
  serve();
  server_->ready(engine_);
  SharePeer deaf = attached(), witness = attached();
  const std::string text(64 << 10, 'x');
  deaf.send(submit(1, text));
  size_t sent = 0;
  const size_t enough = 4000;  // 250 MB of answers, if they were all kept
  while (sent < enough) {
    const std::string body = share::encode(
        share::Submit{2 + sent, a_request(""), {.base = 1 + sent, .before = text.size()}});
    const std::string frame = frame_header(body.size()) + body;
    ASSERT_TRUE(deaf.write(frame, 0));
    if (deaf.full()) break;
    ++sent;
    if (sent % 50 == 0) {  // in step with the owner: what is sent has been handled, or waits in vain
      witness.send(share::Ping{sent});
      ASSERT_TRUE(witness.receive_a<share::Pong>());
    }
  }
  EXPECT_LT(engine_->requests().size(), 1000u);
  witness.send(submit(1, "hello"));
  EXPECT_EQ(witness.receive_a<share::Answer>()->completion.text, "fake|a|0|hello");
}

TEST_F(ShareServerTest, StatusNamesOwnerAndClients) {
  serve();
  const auto status = [&] {
    std::promise<std::string> told;
    server_->status([&](const std::string& json) { told.set_value(json); });
    return nlohmann::json::parse(told.get_future().get());
  };
  EXPECT_EQ(status()["state"], "loading");
  server_->ready(engine_);
  SharePeer peer = attached(), looker = connect();
  looker.send(share::Hello{share::kProtocol, "1", 1, share::kStatusName});
  looker.send(share::AskStatus{5});
  const auto told = looker.receive_a<share::Status>();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->id, 5u);
  const auto json = nlohmann::json::parse(told->json);
  EXPECT_EQ(json["state"], "ready");
  EXPECT_EQ(json["model"], "fake");
  EXPECT_EQ(json["name"], "owner");
  EXPECT_EQ(json["pid"], ::getpid());
  ASSERT_EQ(json["clients"].size(), 1u);  // one who only looks is no client
  EXPECT_EQ(json["clients"][0]["name"], "test");
  EXPECT_EQ(json["clients"][0]["pid"], ::getpid());  // as the kernel says, not as the peer does
}

/// Whoever takes over need not wait for the old owner's model to be put away.
TEST_F(ShareServerTest, EndsWithTheSocketGoneAndTheLockFree) {
  serve();
  server_->ready(engine_);
  SharePeer peer = attached();
  server_.reset();
  EXPECT_TRUE(peer.closed());
  EXPECT_FALSE(place_.connect());
  EXPECT_NE(place_.try_own(), nullptr);
}

}  // namespace
}  // namespace foretoken::lsp

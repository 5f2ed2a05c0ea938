#include "lsp/transport.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace foretoken::lsp {
namespace {

/// A transport between two pipes (or one socket), its loop on a thread. The test is the client.
class TransportTest : public testing::Test {
 protected:
  void connect(OutboxLimits limits = {}) {
    std::array<int, 2> to{}, from{};
    ASSERT_EQ(::pipe2(to.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(from.data(), O_CLOEXEC), 0);
    to_server_ = Fd(to[1]);
    from_server_ = Fd(from[0]);
    start(Fd(to[0]), Fd(from[1]), limits);
  }

  void connect_socket() {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    to_server_ = Fd(ends[1]);
    from_server_ = Fd(::dup(ends[1]));
    start(Fd(ends[0]), Fd(-1), {});
  }

  void start(Fd in, Fd out, OutboxLimits limits) {
    transport_ =
        std::make_unique<FdTransport>(std::move(in), std::move(out), FrameLimits{}, limits);
    transport_->start(
        loop_, {[this](std::string body) { on_message(body); }, [this](std::string) { ++refused_; },
                [this](std::string fault) {
                  if (!ended_) end_.set_value(fault);
                  ended_ = true;
                }});
    front_ = std::thread([this] { loop_->run(); });
  }

  virtual void on_message(const std::string& body) {
    ++messages_;
    transport_->send({"re: " + body});
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::write(to_server_.get(), bytes.data(), bytes.size());
      ASSERT_GT(sent, 0);
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  /// The next message out; "" at the end of the stream.
  std::string read() {
    while (true) {
      if (!arrived_.empty()) {
        std::string first = std::move(arrived_.front());
        arrived_.erase(arrived_.begin());
        return first;
      }
      std::array<char, 4096> buffer{};
      const ssize_t got = ::read(from_server_.get(), buffer.data(), buffer.size());
      if (got <= 0) return "";
      client_.feed({buffer.data(), static_cast<size_t>(got)},
                   [&](Frame frame) { arrived_.push_back(frame.text); });
    }
  }

  void TearDown() override {
    loop_->stop();
    if (front_.joinable()) front_.join();
    transport_.reset();
  }

  std::shared_ptr<RunningLoop> loop_ = make_loop();
  std::unique_ptr<FdTransport> transport_;
  std::thread front_;
  Fd to_server_, from_server_;
  FrameReader client_;
  std::vector<std::string> arrived_;
  std::promise<std::string> end_;
  bool ended_ = false;
  int messages_ = 0, refused_ = 0;
};

std::string framed(const std::string& body) {
  return frame_header(body.size()) + body;
}

TEST_F(TransportTest, AnswersInOrder) {
  connect();
  std::string all;
  for (int i = 0; i < 100; ++i) all += framed(std::to_string(i));
  write(all);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(read(), "re: " + std::to_string(i));
}

TEST_F(TransportTest, OneSocketIsEnough) {
  connect_socket();
  const std::string big(3u << 20, 'b');
  std::thread writer([&] { write(framed(big)); });
  EXPECT_EQ(read(), "re: " + big);
  writer.join();
}

TEST_F(TransportTest, PlainEnd) {
  connect();
  write(framed("x"));
  EXPECT_EQ(read(), "re: x");
  to_server_ = Fd();
  EXPECT_EQ(end_.get_future().get(), "");
}

TEST_F(TransportTest, EndInsideAMessage) {
  connect();
  write("Content-Length: 10\r\n\r\n{");
  to_server_ = Fd();
  EXPECT_EQ(end_.get_future().get(), "the client's stream ended inside a message");
}

TEST_F(TransportTest, BrokenFrameEndsTheStream) {
  connect();
  write("POST / HTTP/1.1\r\n\r\n");
  EXPECT_NE(end_.get_future().get().find("not an LSP header"), std::string::npos);
}

TEST_F(TransportTest, ClientThatIsGoneEndsTheStream) {
  ASSERT_NE(::signal(SIGPIPE, SIG_IGN), SIG_ERR);
  connect();
  from_server_ = Fd();
  write(framed("x"));
  EXPECT_EQ(end_.get_future().get(), "");
}

TEST_F(TransportTest, RegularFileAndDevNullAsInput) {
  Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::array<int, 2> from{};
  ASSERT_EQ(::pipe2(from.data(), O_CLOEXEC), 0);
  from_server_ = Fd(from[0]);
  start(std::move(null), Fd(from[1]), {});
  EXPECT_EQ(end_.get_future().get(), "");
}

TEST_F(TransportTest, CloseWritesWhatWaits) {
  connect();
  for (int i = 0; i < 1000; ++i) transport_->send({std::to_string(i) + std::string(1000, '.')});
  std::thread closer([&] { transport_->close(std::chrono::seconds(60)); });
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(read().starts_with(std::to_string(i) + "."));
  closer.join();
}

TEST_F(TransportTest, CloseDoesNotWaitForAClientThatDoesNotRead) {
  connect();
  transport_->send({std::string(10u << 20, 'x')});
  transport_->close(std::chrono::milliseconds(1));  // returns
}

/// A client that writes and never reads: its messages are read until the outbox is full, then it is
/// the client's pipe that fills up. Nothing grows past the limits, and all is well once it reads.
TEST_F(TransportTest, ClientThatDoesNotRead) {
  connect({.drop_above = 100'000, .stop_above = 1'000'000, .resume_below = 500'000});
  const std::string body(1000, 'x');
  constexpr int kMessages = 20'000;
  std::thread writer([&] {
    std::string all;
    for (int i = 0; i < kMessages; ++i) write(framed(body));
  });
  while (transport_->outbox().bytes() < 1'000'000) std::this_thread::yield();
  // What may come on top: the answers to what the reader had posted.
  EXPECT_LT(transport_->outbox().bytes(), 1'000'000u + (2u << 20));
  for (int i = 0; i < kMessages; ++i) EXPECT_EQ(read(), "re: " + body);
  writer.join();
}

}  // namespace
}  // namespace foretoken::lsp

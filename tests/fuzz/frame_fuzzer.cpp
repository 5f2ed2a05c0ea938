// Raw bytes from a client to the whole server: frames, JSON, methods. The bytes go in in two
// pieces, cut at a place the input chooses; the server runs on this thread with a fake completer.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>

#include "lsp/framing.h"
#include "lsp/server.h"
#include "tests/support/fake_completer.h"

namespace {

using namespace foretoken::lsp;

class QueueLoop : public Loop {
 public:
  void post(Work work) override { posted_.push_back(std::move(work)); }
  TimerId after(std::chrono::milliseconds, Work work) override {
    timers_.emplace(++last_, std::move(work));
    return last_;
  }
  void cancel(TimerId timer) override { timers_.erase(timer); }

  void run() {
    while (!posted_.empty()) {
      Work work = std::move(posted_.front());
      posted_.pop_front();
      work();
    }
  }
  void fire_all() {
    auto due = std::move(timers_);
    timers_.clear();
    for (auto& [id, work] : due) work();
    run();
  }

 private:
  std::deque<Work> posted_;
  std::map<TimerId, Work> timers_;
  TimerId last_ = 0;
};

/// Every message out must be an envelope in valid UTF-8.
class CheckingSink : public Sink {
 public:
  void send(Outgoing message) override {
    if (!message.body.starts_with("{\"jsonrpc\":\"2.0\",") || !is_valid_utf8(message.body))
      std::abort();
  }
};

class Source : public CompleterSource {
 public:
  void start(std::string, std::function<void(std::shared_ptr<Completer>)> ready,
             std::function<void(std::string)>) override {
    ready(std::make_shared<FakeCompleter>("é\r\n\xff"));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t cut = (static_cast<size_t>(data[0] & 0x7f) * 256 + data[1]) % (bytes.size() + 1);

  const auto loop = std::make_shared<QueueLoop>();
  Source source;
  const Log log(LogLevel::off);
  ServerSetup setup;
  setup.is_alive = [](int64_t id) { return id % 2 == 0; };
  Server server(loop, std::make_shared<CheckingSink>(), source, log, setup);
  if ((data[0] & 0x80) != 0) {  // a session that has begun, so that short inputs get further
    server.receive(
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"workspace":{"configuration":true}}}})");
    server.receive(
        R"({"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a","text":"é😀\r\nint x"}}})");
    loop->run();
  }
  FrameReader reader({.body = 1u << 20});
  const auto take = [&](Frame frame) {
    switch (frame.kind) {
      case Frame::Kind::message:
        server.receive(frame.text);
        break;
      case Frame::Kind::skipped:
        server.refuse(frame.text);
        break;
      case Frame::Kind::fatal:
        server.client_gone(frame.text);
        break;
    }
    loop->run();
  };
  reader.feed(bytes.substr(0, cut), take);
  reader.feed(bytes.substr(cut), take);
  loop->fire_all();
  server.client_gone("");
  return 0;
}

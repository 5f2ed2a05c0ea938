// The server as a process, as an editor starts it. Everything but the model is real.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/editor_process.h"

namespace foretoken::lsp {
namespace {

using json = nlohmann::json;
using Clock = std::chrono::steady_clock;

/// The real server; only the model is not.
class Editor : public EditorProcess {
 public:
  explicit Editor(std::vector<std::string> flags = {}) : EditorProcess(command(std::move(flags))) {}

 private:
  static std::vector<std::string> command(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {FORETOKEN_FAKE_SERVER, "--stdio"});
    return flags;
  }
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Memory since `before`; nothing under sanitizers, see kSanitized.
uint64_t grown(const Editor& editor, uint64_t before) {
  const uint64_t now = editor.child.resident_bytes();
  return kSanitized || now < before ? 0 : now - before;
}

TEST(LspProcess, ASession) {
  Editor editor;
  editor.start();
  editor.open("file:///a.c", "int ");
  const json result = editor.answer_to(editor.send_complete("file:///a.c", 4))["result"];
  ASSERT_EQ(result["items"].size(), 1u) << result;
  EXPECT_EQ(result["items"][0]["insertText"], "int completed");
  EXPECT_EQ(editor.request("shutdown", nullptr)["result"], nullptr);
  editor.notify("exit", nullptr);
  EXPECT_EQ(editor.child.wait(), 0);
  EXPECT_EQ(editor.child.errors(), "");  // quiet unless asked
}

TEST(LspProcess, ExitStatus) {
  Editor without;
  without.start();
  without.notify("exit", nullptr);
  EXPECT_EQ(without.child.wait(), 1);
  Editor early;
  early.notify("exit", nullptr);
  EXPECT_EQ(early.child.wait(), 1);
  Editor flag({"--log-level=loud"});
  EXPECT_EQ(flag.child.wait(), 2);
}

/// Whatever it is doing: nothing, waiting for a model that loads for ever, or generating.
TEST(LspProcess, LeavesWhenItsInputEnds) {
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{}, {"--never-ready"}, {"--hold"}}) {
    Editor editor(flags);
    editor.start();
    editor.open("file:///a.c", "int ");
    editor.send_complete("file:///a.c", 4);
    const auto start = Clock::now();
    editor.child.close_stdin();
    EXPECT_EQ(editor.child.wait(), 1);
    EXPECT_LT(seconds_since(start), 2 * 5);
  }
  Editor at_once;
  at_once.child.close_stdin();
  EXPECT_EQ(at_once.child.wait(), 1);
}

TEST(LspProcess, LeavesWhenItsOutputIsClosed) {
  Editor editor;
  editor.start();
  editor.child.close_stdout();
  editor.send("foretoken/status", nullptr);
  EXPECT_EQ(editor.child.wait(), 1);  // not a signal: SIGPIPE is not fatal
}

/// Its editor is killed while somebody else keeps the pipes open.
TEST(LspProcess, LeavesWhenItsEditorIsGone) {
  for (const bool by_flag : {true, false}) {
    const pid_t parent = ::fork();
    ASSERT_GE(parent, 0);
    if (parent == 0) {
      while (true) ::pause();
    }
    Editor editor(by_flag ? std::vector<std::string>{"--clientProcessId=" + std::to_string(parent)}
                          : std::vector<std::string>{});
    editor.start(by_flag ? json(nullptr) : json(parent));
    EXPECT_TRUE(editor.alive());
    const auto start = Clock::now();
    ::kill(parent, SIGKILL);  // and nobody collects it: a zombie has ended
    EXPECT_EQ(editor.child.wait(), 1);
    EXPECT_LT(seconds_since(start), 5 * 3);
    ::waitpid(parent, nullptr, 0);
  }
}

TEST(LspProcess, BrokenFramesEndItWithOneLine) {
  const std::vector<std::string> faults = {
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
      "GET / HTTP/1.1\r\n\r\n",
      "Content-Length: -1\r\n\r\n{}",
      "Content-Length: 9223372036854775808\r\n\r\n{}",
      "Content-Length: " + std::string(400, '9') + "\r\n\r\n{}",
      "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
      "\r\n\r\n",
      "\xEF\xBB\xBF"
      "Content-Length: 2\r\n\r\n{}",
      std::string(1u << 20, 'a'),
      "Content-Type: a/b\r\n\r\n",
  };
  for (const std::string& fault : faults) {
    Editor editor;
    editor.start();
    const auto start = Clock::now();
    editor.child.write(fault);
    EXPECT_EQ(editor.child.wait(), 1) << fault.substr(0, 60);
    EXPECT_LT(seconds_since(start), 1 * 5);
    const std::string errors = editor.child.errors();
    EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
    EXPECT_EQ(editor.child.receive(), std::nullopt);  // no message was executed
  }
}

TEST(LspProcess, FramesThatAreTooLongArePassedOver) {
  Editor editor;
  editor.start();
  EXPECT_TRUE(editor.alive());
  const uint64_t before = editor.child.resident_bytes();
  const size_t length = (64u << 20) + 1;
  editor.child.write(frame_header(length));
  const auto refusal = editor.child.receive();  // before the body
  ASSERT_TRUE(refusal);
  EXPECT_EQ(json::parse(*refusal)["error"]["code"], -32600);
  std::string chunk(1u << 20, 'x');
  for (size_t sent = 0; sent < length; sent += chunk.size()) {
    editor.child.write(std::string_view(chunk).substr(0, std::min(chunk.size(), length - sent)));
  }
  EXPECT_TRUE(editor.alive());
  EXPECT_LT(grown(editor, before), 16u << 20);
}

TEST(LspProcess, ABodyThatIsNeverSentCostsNothing) {
  for (const char* header :
       {"Content-Length: 67108864\r\n\r\n", "Content-Length: 2147483648\r\n\r\n", "Content-Le"}) {
    Editor editor;
    editor.start();
    EXPECT_TRUE(editor.alive());
    const uint64_t before = editor.child.resident_bytes();
    editor.child.write(header);
    editor.child.write("{");
    const double cpu = editor.child.cpu_seconds();
    std::this_thread::sleep_for(
        std::chrono::milliseconds(300));  // the measure is CPU time, not this
    EXPECT_LT(editor.child.cpu_seconds() - cpu, 0.1) << header;
    EXPECT_LT(grown(editor, before), 16u << 20) << header;
    editor.child.close_stdin();
    EXPECT_EQ(editor.child.wait(), 1);
  }
}

/// 60 seconds at 50 messages a second, as fast as they go: what a client that does not read costs.
TEST(LspProcess, AClientThatDoesNotReadCostsLittle) {
  Editor editor({"--text=" + std::string(4000, 'x')});
  editor.start();
  for (int i = 0; i < 5; ++i) editor.open("file:///" + std::to_string(i), "int ");
  EXPECT_TRUE(editor.alive());
  const uint64_t before = editor.child.resident_bytes();
  const int first = editor.send_complete("file:///0", 4);
  int last = 0;
  for (int i = 1; i < 3000; ++i) last = editor.send_complete("file:///" + std::to_string(i % 5), 4);
  const int status = editor.send("foretoken/status", nullptr);
  std::this_thread::sleep_for(
      std::chrono::milliseconds(200));  // lets it fall behind as far as it will
  EXPECT_LT(grown(editor, before), 32u << 20);

  std::map<int, json> answers;
  while (answers.size() < 3001) {
    const auto body = editor.child.receive();
    ASSERT_TRUE(body) << answers.size() << " answers came";
    const json message = json::parse(*body);
    ASSERT_TRUE(answers.emplace(message["id"].get<int>(), message).second)
        << "answered twice: " << message;
  }
  EXPECT_EQ(answers.begin()->first, first);
  EXPECT_EQ(answers.rbegin()->first, status);
  EXPECT_EQ(answers.at(last)["result"]["items"].size(), 1u);  // the newest state wins
}

TEST(LspProcess, AModelThatCannotLoadIsTold) {
  Editor editor({"--fail=model.gguf is not there"});
  editor.start();
  bool told = false;
  while (!told) {
    const auto body = editor.child.receive();
    ASSERT_TRUE(body);
    const json message = json::parse(*body);
    told = message.value("method", "") == "window/showMessage";
    if (!told) continue;
    EXPECT_EQ(message["params"]["message"],
              "Foretoken cannot complete code: model.gguf is not there");
  }
  editor.open("file:///a.c", "int ");
  EXPECT_EQ(editor.answer_to(editor.send_complete("file:///a.c", 4))["result"],
            (json{{"items", json::array()}}));
}

TEST(LspProcess, NoSourceTextInTheLog) {
  Editor editor({"--log-level=debug"});
  editor.start();
  editor.open("file:///a.c", "sEcReT = 1");
  editor.answer_to(editor.send_complete("file:///a.c", 3));
  editor.child.send(
      R"({"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a.c"},"contentChanges":[{"text":"sEcReT","range":5}]}})");
  editor.child.send(R"({"jsonrpc":"2.0","id":"sEcReT" oops)");
  editor.child.send(R"({"jsonrpc":"2.0","params":["sEcReT"]})");
  editor.notify("$/unknown", {{"text", "sEcReT"}});
  EXPECT_TRUE(editor.alive());
  editor.child.close_stdin();
  EXPECT_TRUE(editor.child.wait());
  const std::string log = editor.child.errors();
  EXPECT_NE(log, "");
  EXPECT_EQ(log.find("sEcReT"), std::string::npos) << log;
}

TEST(LspProcess, OpensNoSocket) {
  Editor editor;
  editor.start();
  EXPECT_TRUE(editor.alive());
  std::string sockets;
  for (int fd = 0; fd < 64; ++fd) {
    char target[64] = {};
    const std::string link =
        "/proc/" + std::to_string(editor.child.id()) + "/fd/" + std::to_string(fd);
    if (::readlink(link.c_str(), target, sizeof target - 1) > 0 &&
        std::string_view(target).starts_with("socket:")) {
      sockets += link + " ";
    }
  }
  EXPECT_EQ(sockets, "");
}

}  // namespace
}  // namespace foretoken::lsp

// One engine for the editors and commands of a user: real processes, the pocket model, and owners
// that are killed.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lsp/share_place.h"
#include "tests/support/editor_process.h"
#include "tests/support/program.h"
#include "tests/support/share_peer.h"

namespace foretoken::lsp {
namespace {

using json = nlohmann::json;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

const std::string kText = "def add(first, second):\n    return first + sec";

class SharedProgram : public testing::Test {
 protected:
  using Editor = std::unique_ptr<EditorProcess>;

  std::string home() const { return (program_.folder() / "home").string(); }

  /// An editor whose model is ready, on an engine of its own or another's.
  Editor start(const std::vector<std::string>& flags = {}, const std::string& runtime = "run") {
    std::vector<std::string> command = {"/usr/bin/env",
                                        "-u",
                                        "FORETOKEN_MODEL",
                                        "HOME=" + home(),
                                        "XDG_CACHE_HOME=" + home() + "/cache",
                                        "XDG_CONFIG_HOME=" + home() + "/config",
                                        "XDG_RUNTIME_DIR=" + home() + "/" + runtime,
                                        FORETOKEN_BINARY,
                                        "lsp"};
    command.insert(command.end(), flags.begin(), flags.end());
    auto editor = std::make_unique<EditorProcess>(command);
    editor->start();
    const auto until = Clock::now() + 10 * ChildProcess::kPatience;
    std::string state = "loading";
    while (state == "loading" && Clock::now() < until) {
      state = editor->request("foretoken/status", nullptr)["result"]["model"];
    }
    EXPECT_EQ(state, "ready");
    editor->open("file:///t.py", kText);
    return editor;
  }
  static int ask(EditorProcess& editor) { return editor.send_complete("file:///t.py", 22, 1); }
  static std::string text_of(const json& answer) {
    const json& items = answer["result"]["items"];
    return items.empty() ? "" : items[0]["insertText"].get<std::string>();
  }
  json status() { return json::parse(program_.run("status --json").out); }

  const test::Program program_;
};

TEST_F(SharedProgram, TwoEditorsUseOneEngine) {
  const Editor first = start(), second = start();
  EXPECT_EQ(text_of(first->answer_to(ask(*first))), "return first + second");
  EXPECT_EQ(text_of(second->answer_to(ask(*second))), "return first + second");
  const json engines = status();
  ASSERT_EQ(engines.size(), 1u) << engines;
  EXPECT_EQ(engines[0]["pid"], first->child.id());
  ASSERT_EQ(engines[0]["clients"].size(), 1u) << engines;
  EXPECT_EQ(engines[0]["clients"][0]["pid"], second->child.id());
  EXPECT_EQ(engines[0]["model"], "pocket");
  const std::string shown = program_.run("status").out;
  EXPECT_THAT(shown, HasSubstr("Engine of process " + std::to_string(first->child.id())));
  EXPECT_THAT(shown, HasSubstr("pocket on "));
  const json histograms = json::parse(program_.run("status --metrics-json").out);
  EXPECT_TRUE(histograms["engines"][0]["histograms"].contains("total_ms"));
}

TEST_F(SharedProgram, WithNobodyThereStatusSaysSo) {
  const test::Ran ran = program_.run("status");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, HasSubstr("No engine is running"));
  EXPECT_EQ(program_.run("status --json").out, "[]\n");
  const Editor editor = start();
  EXPECT_EQ(status().size(), 1u);
  editor->child.close_stdin();
  EXPECT_TRUE(editor->child.wait());
  EXPECT_EQ(program_.run("status --json").out, "[]\n");
}

TEST_F(SharedProgram, NoShareKeepsToItself) {
  const Editor alone = start({"--no-share"});
  EXPECT_EQ(text_of(alone->answer_to(ask(*alone))), "return first + second");
  EXPECT_EQ(program_.run("status --json").out, "[]\n");
}

TEST_F(SharedProgram, AnUnusableFolderIsToldInOneLine) {
  program_.folder().write("home/broken", "no folder");
  const Editor editor = start({}, "broken");
  EXPECT_EQ(text_of(editor->answer_to(ask(*editor))), "return first + second");
  editor->child.close_stdin();
  EXPECT_TRUE(editor->child.wait());
  const std::string errors = editor->child.errors();
  EXPECT_THAT(errors, HasSubstr("the engine is not shared: "));
  EXPECT_EQ(std::ranges::count(errors, '\n'), 1) << errors;
}

/// The owner stops with the request in its hands and is then killed: one reply, from the next owner.
TEST_F(SharedProgram, AKilledOwnersRequestIsAnsweredOnceByTheNext) {
  const Editor owner = start(), other = start();
  owner->child.kill(SIGSTOP);
  const int id = ask(*other);
  owner->child.kill(SIGKILL);
  EXPECT_EQ(text_of(other->answer_to(id)), "return first + second");
  const int next = other->send("foretoken/status", nullptr);
  while (const auto body = other->child.receive()) {
    const json message = json::parse(*body);
    EXPECT_NE(message.value("id", json()), json(id)) << "answered twice";
    if (message.value("id", json()) == json(next)) break;
  }
  const json engines = status();
  ASSERT_EQ(engines.size(), 1u);
  EXPECT_EQ(engines[0]["pid"], other->child.id());
}

/// At any moment, with two editors asking; a new editor comes for each that is lost.
TEST_F(SharedProgram, FiftyKilledOwnersCostNoReplyAndNoOtherProcess) {
  std::mt19937 random(16);
  std::vector<Editor> editors;
  for (int i = 0; i < 3; ++i) editors.push_back(start());
  int unchanged = 0;
  for (int round = 0; round < 50; ++round) {
    const json engines = status();
    ASSERT_EQ(engines.size(), 1u) << engines;
    const int64_t pid = engines[0]["pid"];
    const auto owner = std::ranges::find_if(editors, [&](const Editor& e) { return e->child.id() == pid; });
    ASSERT_NE(owner, editors.end()) << "round " << round;
    // Each asks about some documents, so that none supersedes another.
    std::map<EditorProcess*, std::map<int, int>> answers;
    for (const Editor& editor : editors) {
      if (editor == *owner) continue;
      for (int i = 0; i < 4; ++i) {
        const std::string uri = "file:///" + std::to_string(round) + "_" + std::to_string(i) + ".py";
        editor->open(uri, kText);
        answers[editor.get()][editor->send_complete(uri, 22, 1)] = 0;
      }
    }
    const auto take = [&](EditorProcess& editor) {
      const auto body = editor.child.receive();
      ASSERT_TRUE(body);
      const json message = json::parse(*body);
      if (!message.contains("id") || message.contains("method")) return;
      EXPECT_EQ(++answers[&editor][message["id"]], 1);
      EXPECT_EQ(text_of(message), "return first + second") << message;
    };
    for (unsigned taken = random() % 5; taken > 0; --taken) take(*answers.begin()->first);
    (*owner)->child.kill(SIGKILL);
    for (auto& [editor, ids] : answers) {
      while (std::ranges::any_of(ids, [](const auto& id) { return id.second == 0; })) {
        take(*editor);
        if (HasFatalFailure()) return;
      }
    }
    editors.erase(owner);
    bool all = true;
    for (const Editor& editor : editors) all = all && editor->alive();
    unchanged += all ? 1 : 0;
    editors.push_back(start());
  }
  EXPECT_EQ(unchanged, 50);
}

/// 60 seconds at 50 messages a second, as fast as they go, from another process that does not read.
TEST_F(SharedProgram, APeerThatDoesNotReadCostsTheOwnerLittle) {
  const Editor owner = start();
  const std::string folder = home() + "/run/foretoken";
  const std::vector<std::string> keys = SharePlace::keys(folder);
  ASSERT_EQ(keys.size(), 1u);
  SharePeer peer(SharePlace(folder, keys[0], ::geteuid()).connect());
  peer.greet(FORETOKEN_VERSION);
  ASSERT_TRUE(peer.receive_a<share::Ready>());
  const uint64_t before = owner->child.resident_bytes();
  uint64_t sent = 0;
  for (; sent < 3000 && !peer.full(); ++sent) {
    const std::string body = share::encode(share::AskStatus{sent});
    ASSERT_TRUE(peer.write(frame_header(body.size()) + body, 1000));
  }
  EXPECT_EQ(text_of(owner->answer_to(ask(*owner))), "return first + second");  // meanwhile
  const uint64_t now = owner->child.resident_bytes();
  EXPECT_LT(kSanitized || now < before ? 0 : now - before, 32u << 20);
  if (peer.full()) --sent;  // the last was cut
  for (uint64_t id = 0; id < sent; ++id) {
    const auto told = peer.receive_a<share::Status>();
    ASSERT_TRUE(told) << id;
    ASSERT_EQ(told->id, id);
  }
}

TEST_F(SharedProgram, ManyEditorsAtOnceHaveOneOwner) {
  std::vector<std::unique_ptr<EditorProcess>> editors;
  for (int i = 0; i < 6; ++i) {
    editors.push_back(std::make_unique<EditorProcess>(std::vector<std::string>{
        "/usr/bin/env", "HOME=" + home(), "XDG_RUNTIME_DIR=" + home() + "/run",
        "XDG_CACHE_HOME=" + home() + "/cache", "XDG_CONFIG_HOME=" + home() + "/config", FORETOKEN_BINARY, "lsp",
        "--model", "pocket"}));
  }
  for (auto& editor : editors) editor->send("initialize", {{"processId", nullptr}, {"capabilities", json::object()}});
  for (auto& editor : editors) {
    std::string state = "loading";
    while (state == "loading") {
      state = editor->request("foretoken/status", nullptr)["result"].value("model", "loading");
    }
    EXPECT_EQ(state, "ready");
  }
  const json engines = status();
  ASSERT_EQ(engines.size(), 1u);
  EXPECT_EQ(engines[0]["clients"].size(), 5u);
}

/// `complete` asks the owner where there is one; a stopped one shows it, and costs two seconds.
TEST_F(SharedProgram, CompleteAttachesAndJsonlDoesNot) {
  program_.folder().write("t.py", kText);
  const test::Ran alone = program_.run("complete t.py:2:23");
  EXPECT_EQ(alone.out, "ond\n");
  EXPECT_EQ(program_.run("status --json").out, "[]\n");
  const Editor owner = start();
  EXPECT_EQ(program_.run("complete t.py:2:23").out, alone.out);
  owner->child.kill(SIGSTOP);
  const test::Ran stopped = program_.run("complete t.py:2:23");
  EXPECT_EQ(stopped.out, alone.out);
  EXPECT_THAT(stopped.errors, HasSubstr("the engine is not shared: the process that owns the engine does not answer"));
  const test::Ran own = program_.run("complete t.py:2:23 --no-share");
  EXPECT_EQ(own.out, alone.out);
  EXPECT_THAT(own.errors, Not(HasSubstr("shared")));
  const json request = {{"id", 1}, {"path", "t.py"}, {"text", kText}, {"line", 2}, {"col", 23}};
  const test::Ran replay = program_.run("complete --jsonl", request.dump() + "\n");
  EXPECT_EQ(json::parse(replay.out)["text"], "ond");
  EXPECT_THAT(replay.errors, Not(HasSubstr("shared")));
}

TEST_F(SharedProgram, BooksAreWrittenWhenACommandEnds) {
  program_.folder().write("t.py", kText);
  EXPECT_EQ(program_.run("complete t.py:2:23 --metrics-json books.json").status, 0);
  const std::string text = test::read_file(program_.folder() / "books.json");
  EXPECT_TRUE(json::parse(text)["histograms"].contains("total_ms")) << text;
  struct stat info{};
  ASSERT_EQ(::stat((program_.folder() / "books.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const test::Ran nowhere = program_.run("complete t.py:2:23 --metrics-json none/books.json");
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_THAT(nowhere.errors, HasSubstr("--metrics-json: none is no folder"));
  // What goes wrong later is told when the command ends; its answers are none the worse.
  const test::Ran full = program_.run("complete t.py:2:23 --metrics-json /proc/books.json");
  EXPECT_EQ(full.out, "ond\n");
  EXPECT_THAT(full.errors, HasSubstr("cannot write /proc/books.json: "));

  const Editor editor = start({"--metrics-json", (program_.folder() / "lsp.json").string()});
  editor->answer_to(ask(*editor));
  editor->child.close_stdin();
  EXPECT_TRUE(editor->child.wait());
  EXPECT_TRUE(json::parse(test::read_file(program_.folder() / "lsp.json")).contains("histograms"));
}

}  // namespace
}  // namespace foretoken::lsp

// `foretoken lsp` itself, with the pocket model.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>
#include <string>

#include "tests/support/editor_process.h"
#include "lsp/documents.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace foretoken::lsp {
namespace {

using json = nlohmann::json;
using Clock = std::chrono::steady_clock;

class LspProgram : public testing::Test {
 protected:
  EditorProcess start() {
    const std::string home = home_.path().string();
    return EditorProcess({"/usr/bin/env", "-u", "FORETOKEN_MODEL", "HOME=" + home,
                          "XDG_CACHE_HOME=" + home + "/cache",
                          "XDG_CONFIG_HOME=" + home + "/config",
                          "XDG_RUNTIME_DIR=" + home + "/run", FORETOKEN_BINARY, "lsp",
                          "--stdio"});
  }

  static std::string wait_for_model(EditorProcess& editor) {
    const auto until = Clock::now() + 10 * ChildProcess::kPatience;
    std::string state = "loading";
    while (state == "loading" && Clock::now() < until) {
      state = editor.request("foretoken/status", nullptr)["result"]["model"];
    }
    return state;
  }

 private:
  test::TempFolder home_;
};

TEST_F(LspProgram, CompletesFromTheModel) {
  EditorProcess editor = start();
  editor.start();
  editor.open("file:///t.py", "def add(first, second):\n    return first + sec");
  EXPECT_TRUE(editor.answer_to(editor.send_complete("file:///t.py", 22, 1)).contains("result"));
  ASSERT_EQ(wait_for_model(editor), "ready");
  const json result = editor.answer_to(editor.send_complete("file:///t.py", 22, 1))["result"];
  ASSERT_EQ(result["items"].size(), 1u) << result;
  EXPECT_TRUE(
      result["items"][0]["insertText"].get<std::string>().starts_with("return first + sec"));
  EXPECT_EQ(editor.request("shutdown", nullptr)["result"], nullptr);
  editor.notify("exit", nullptr);
  EXPECT_EQ(editor.child.wait(), 0);
}

TEST_F(LspProgram, LeavesInTheMiddleOfAnything) {
  for (const bool ready : {false, true}) {
    EditorProcess editor = start();
    editor.start();
    if (ready) wait_for_model(editor);
    for (int i = 0; i < 20; ++i) {
      const std::string uri = "file:///" + std::to_string(i);
      editor.open(uri, std::string(8000, 'x') + "\n");
      editor.send_complete(uri, 0, 1);
    }
    const auto start = Clock::now();
    editor.child.close_stdin();
    EXPECT_EQ(editor.child.wait(), 1);
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(2 * 5));
  }
}

/// Every id answered once; what the answers were, by id.
std::map<int, int> collect(EditorProcess& editor, size_t expected) {
  std::map<int, int> answers;
  size_t count = 0;
  while (count < expected) {
    const auto body = editor.child.receive();
    if (!body) break;
    const json message = json::parse(*body, nullptr, false);
    if (!message.contains("id") || message.contains("method")) continue;
    ++answers[message["id"]];
    ++count;
  }
  return answers;
}

TEST_F(LspProgram, AnswersAThousandCompletionsAndNineHundredCancelsOnceEach) {
  EditorProcess editor = start();
  editor.start();
  ASSERT_EQ(wait_for_model(editor), "ready");
  const std::string text = "def area(width, height):\n    return wid\n";
  for (int d = 0; d < 10; ++d) editor.open("file:///" + std::to_string(d) + ".py", text);
  std::mt19937 random(5);
  const auto round = [&](int completions, int cancels) {
    std::vector<int> ids;
    std::map<int, int> answers;
    const auto cancel = [&](int id) { editor.notify("$/cancelRequest", {{"id", id}}); };
    int cancelled = 0;
    for (int i = 0; i < completions; ++i) {
      ids.push_back(editor.send_complete("file:///" + std::to_string(random() % 10) + ".py", 14, 1));
      while (cancelled * completions < cancels * (i + 1)) {
        ++cancelled;
        // Just sent, sent some time ago (answered or not, perhaps cancelled before), or unknown.
        const unsigned kind = random() % 8;
        cancel(kind == 0 ? 1000000 + cancelled : kind < 5 ? ids.back() : ids[random() % ids.size()]);
      }
      if (i % 100 == 99) {  // keep the pipes moving
        for (const auto& [id, n] : collect(editor, 100)) answers[id] += n;
      }
    }
    for (const int id : ids) EXPECT_EQ(answers[id], 1) << id;
    EXPECT_EQ(answers.size(), ids.size());
  };
  round(200, 180);  // pages touched, caches filled
  const auto heap = [&] { return editor.request("foretoken/memory", nullptr)["result"]["heap_bytes"].get<int64_t>(); };
  const int64_t before = heap();
  round(1000, 900);
  EXPECT_LE(heap() - before, 1 << 20);
  EXPECT_TRUE(editor.alive());
}

TEST_F(LspProgram, AgreesWithTheCommandLine) {
  const test::Program program;
  const std::string text = "import os\r\n\r\ndef area(width, height):\r\n    return wid\r\n\r\nprint(area(3, 4))\r\n";
  const auto file = program.folder().write("src/a.py", text);
  const test::Ran ran = program.run("complete src/a.py:4:15 --json --model pocket");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const std::string script = json::parse(ran.out)["text"];

  EditorProcess editor = start();
  editor.request("initialize", {{"processId", nullptr},
                                {"rootUri", uri_of_path(program.folder().path().string())},
                                {"capabilities", json::object()}});
  editor.notify("initialized", json::object());
  ASSERT_EQ(wait_for_model(editor), "ready");
  const std::string uri = uri_of_path(file.string());
  editor.open(uri, text);
  const json item = editor.answer_to(editor.send_complete(uri, 14, 3))["result"]["items"][0];
  const std::string shown = item["insertText"];
  const size_t from = item["range"]["start"]["character"];
  EXPECT_EQ(std::string("    return wid").substr(from) + script, shown);
}

}  // namespace
}  // namespace foretoken::lsp

// `foretoken lsp` itself, with the pocket model.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/support/editor_process.h"
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
                          "XDG_CONFIG_HOME=" + home + "/config", FORETOKEN_BINARY, "lsp",
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

}  // namespace
}  // namespace foretoken::lsp

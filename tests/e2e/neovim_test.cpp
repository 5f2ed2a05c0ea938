// A real editor drives the server. Skipped, and said so, where Neovim is not installed.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/process.h"

namespace foretoken::lsp {
namespace {

using json = nlohmann::json;
namespace fs = std::filesystem;

std::string find_program(const std::string& name) {
  const char* path = ::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, end)) / name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

TEST(Neovim, ShowsTheReplyAsGhostTextAndAccepts) {
  const std::string nvim = find_program("nvim");
  if (nvim.empty())
    GTEST_SKIP() << "SKIPPED: no nvim in PATH, so no real editor has driven the server here";
  const fs::path folder =
      fs::temp_directory_path() / ("foretoken_nvim_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string result_file = (folder / "result.json").string();
  const std::string server = std::string(FORETOKEN_FAKE_SERVER) + " --stdio --text=add(int_a);\n}";
  ChildProcess editor({"/usr/bin/env", "HOME=" + folder.string(),
                       "XDG_CACHE_HOME=" + folder.string(), "XDG_STATE_HOME=" + folder.string(),
                       "FORETOKEN_COMMAND=" + server, "FORETOKEN_RESULT=" + result_file, nvim,
                       "--headless", "--clean", "-u", "NONE", "-c",
                       "luafile " FORETOKEN_SOURCE_DIR "/tests/e2e/neovim_session.lua"});
  EXPECT_EQ(editor.wait(), 0) << "nvim did not end";
  std::ifstream file(result_file);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  fs::remove_all(folder);
  const json result = json::parse(text, nullptr, false);
  ASSERT_TRUE(result.is_object()) << "nvim wrote no result: " << text;

  EXPECT_FALSE(result.contains("fault")) << result["fault"];
  EXPECT_FALSE(result.contains("error")) << result["error"];
  EXPECT_EQ(result["server"], true);
  EXPECT_EQ(result["ghost"], "add(int_a);\n}");
  EXPECT_EQ(result["text"], "// é😀\nint add(int_a);\n}");
  EXPECT_FALSE(result.contains("accept_error"));
  EXPECT_EQ(result["server_bytes"], std::string("// é😀\nint add(int_a);\n}\n").size());
  EXPECT_EQ(result["exit_code"], 0);
}

}  // namespace
}  // namespace foretoken::lsp

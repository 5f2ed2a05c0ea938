// A catalogue of one model, a user with an empty home, and a listener, for tests of pulls.
#pragma once

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lsp/pull.h"
#include "lsp/sha256.h"
#include "tests/support/hub.h"

namespace foretoken::lsp {

inline std::string some_bytes(size_t count) {
  std::mt19937 random(7);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = char(random());
  return bytes;
}

inline std::string sum_of(const std::string& bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

struct Listener : PullReporter {
  std::vector<std::string> lines;
  std::function<void(uint64_t)> on_progress = [](uint64_t) {};
  void say(const std::string& line) override { lines.push_back(line); }
  void progress(uint64_t done, uint64_t) override { on_progress(done); }
  void finished() override {}
};

/// The entry "tiny" has `content` as its bytes.
class Pull : public testing::Test {
 protected:
  Pull() {
    folder.write("share/models.json",
                 R"({"hub": "https://localhost:1", "default": "tiny", "models": [{"name": "tiny",
                 "title": "t", "licence": "l", "bytes": 1, "architecture": "llama", "fim": "none",
                 "sources": [{"hub": "o/r", "file": "f"}]}]})");
    entry.name = "tiny";
    entry.bytes = content.size();
    entry.sha256 = sum_of(content);
    settings.connect_seconds = 5;
    settings.stall_seconds = 5;
  }

  Source from_hub(const std::string& owner) const {
    return {.hub = owner + "/repo", .revision = "main", .file = "model file.gguf"};
  }

  Pulled run() {
    const Catalogue catalogue = Catalogue::read(folder / "share/models.json");
    return pull(entry, catalogue, paths(), settings, listener, [this] { return interrupt.load(); });
  }

  std::string failure() {
    try {
      run();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no failure";
  }

  void use(const test::Hub& hub) {
    settings.hub = hub.address();
    settings.certificates = hub.certificate();
  }

  Paths paths() const {
    return {.share = folder / "share",
            .cache = folder / "cache/foretoken",
            .config = folder / "config"};
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(paths().models())) {
      names.push_back(file.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  test::TempFolder folder;
  std::string content = some_bytes(300000);
  Entry entry;
  PullSettings settings;
  Listener listener;
  std::atomic<bool> interrupt = false;
};

}  // namespace foretoken::lsp

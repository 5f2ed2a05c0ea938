// Who may include whom, how long a file may be, where the heavy headers may stand: the picture of
// the README, checked.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

const fs::path kRoot = FORETOKEN_SOURCE_DIR;
const std::vector<std::string> kRooms = {"kernels", "engine", "grammars", "indexer", "lsp"};

struct SourceFile {
  std::string name;  // from the root: "lsp/paths.cpp"
  std::string room;
  std::vector<std::string> lines;
  std::vector<std::string> includes;  // as written between the quotes or brackets
  bool header() const { return name.ends_with(".h") || name.ends_with(".cuh"); }
};

SourceFile read_source(const fs::path& path) {
  static const std::regex include(R"(\s*#\s*include\s*[<"]([^>"]+)[>"].*)");
  SourceFile file;
  file.name = path.lexically_relative(kRoot).generic_string();
  file.room = file.name.substr(0, file.name.find('/'));
  std::ifstream stream(path);
  std::smatch match;
  for (std::string line; std::getline(stream, line);) {
    if (line.size() < 200 && std::regex_match(line, match, include))
      file.includes.push_back(match[1]);
    file.lines.push_back(std::move(line));
  }
  return file;
}

std::vector<SourceFile> sources(std::vector<std::string> folders) {
  static const std::set<std::string> endings = {".h", ".cpp", ".cu", ".cuh"};
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& item : fs::recursive_directory_iterator(kRoot / folder)) {
      if (item.is_regular_file() && endings.contains(item.path().extension().string())) {
        files.push_back(read_source(item.path()));
      }
    }
  }
  EXPECT_FALSE(files.empty());
  return files;
}

bool starts_with_any(const std::string& text, const std::vector<std::string>& beginnings) {
  return std::ranges::any_of(beginnings, [&](const auto& b) { return text.starts_with(b); });
}

TEST(Architecture, RoomsIncludeOnlyTheRoomsBelow) {
  const std::map<std::string, std::set<std::string>> may = {
      {"kernels", {"kernels"}},
      {"engine", {"engine", "kernels"}},
      {"grammars", {"grammars"}},
      {"indexer", {"indexer", "grammars"}},
      // lsp names a backend and its list (kernels/backend.h); grammars for what is lexical.
      {"lsp", {"lsp", "engine", "kernels", "indexer", "grammars"}},
  };
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources(kRooms)) {
    for (const std::string& include : file.includes) {
      const std::string room = include.substr(0, include.find('/'));
      const bool ours = std::ranges::find(kRooms, room) != kRooms.end() || room == "tests";
      if (ours && !may.at(file.room).contains(room))
        wrong.push_back(file.name + " includes " + include);
    }
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(Architecture, EveryIncludeOfOursNamesAFileFromTheRoot) {
  std::vector<std::string> wrong;
  auto all = kRooms;
  all.push_back("tests");
  for (const SourceFile& file : sources(all)) {
    for (const std::string& include : file.includes) {
      const bool ours = starts_with_any(
          include, {"kernels/", "engine/", "grammars/", "indexer/", "lsp/", "tests/"});
      if (include.starts_with(".") || (ours && !fs::exists(kRoot / include))) {
        wrong.push_back(file.name + " includes " + include);
      }
    }
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(Architecture, HeavyHeadersStayAtTheDoor) {
  const std::vector<std::string> door = {"nlohmann/", "boost/", "curl/", "CLI/", "openssl/"};
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources(kRooms)) {
    for (const std::string& include : file.includes) {
      if (file.room != "lsp" && starts_with_any(include, door)) {
        wrong.push_back(file.name + " includes " + include);
      }
      const bool cuda = starts_with_any(include, {"cuda", "cublas"});
      if (cuda && (file.room != "kernels" || file.name.ends_with(".h"))) {
        wrong.push_back(file.name + " includes " + include);
      }
      if (file.room != "indexer" && starts_with_any(include, {"tree_sitter/", "git2"})) {
        wrong.push_back(file.name + " includes " + include);
      }
    }
  }
  EXPECT_THAT(wrong, IsEmpty());
}

// Each of them costs seconds of compile time: a new one is a decision, made here.
TEST(Architecture, FewFilesReadOrWriteJson) {
  const std::set<std::string> may = {
      "lsp/answer_json.h",      "lsp/answer_json.cpp",  // an answer as JSON, for scripts
      "lsp/catalogue.cpp",                              // models.json
      "lsp/cli_complete.cpp",                           // requests as JSON lines
      "lsp/cli_doctor.cpp",     "lsp/cli_model.cpp",    // --json
      "lsp/cli_model_run.cpp",  "lsp/cli_bench.cpp",    // --json
      "lsp/metrics.cpp",        "lsp/local_engine.cpp",  // what answers cost
      "lsp/books.cpp",          "lsp/share_status.cpp",  // the same, of a command and of an engine
      "lsp/cli_bench_keystroke.cpp", "lsp/keystroke_report.cpp", "lsp/peer_comparison.cpp",  // --json
      "lsp/peer_server.cpp",                            // another server's requests and answers
      "lsp/jsonrpc.h",          "lsp/jsonrpc.cpp",      // messages
      "lsp/protocol.h",         "lsp/protocol.cpp",     // to structs and back
      "lsp/protocol_parse.cpp", "lsp/server.h",        "lsp/server.cpp",  // method table
      "lsp/config.cpp",         "lsp/user_config.cpp",                    // settings
  };
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources({"lsp"})) {
    for (const std::string& include : file.includes) {
      const bool json = include.starts_with("nlohmann/") && include != "nlohmann/json_fwd.hpp";
      if (json && !may.contains(file.name)) wrong.push_back(file.name + " includes " + include);
    }
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(Architecture, HeadersAreGuardedAndLeaveNamesAlone) {
  auto all = kRooms;
  all.push_back("tests");
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources(all)) {
    if (!file.header()) continue;
    if (std::ranges::find(file.lines, "#pragma once") == file.lines.end()) {
      wrong.push_back(file.name + " lacks #pragma once");
    }
    for (const std::string& line : file.lines) {
      if (line.starts_with("using namespace")) wrong.push_back(file.name + ": " + line);
    }
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(Architecture, FilesStayReadable) {
  constexpr size_t kSmell = 400, kLimit = 600;
  auto all = kRooms;
  all.push_back("tests");
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources(all)) {
    if (file.lines.size() <= kSmell) continue;
    const bool reason = std::ranges::any_of(
        file.lines, [](const std::string& line) { return line.starts_with("// Long because:"); });
    if (!reason || file.lines.size() > kLimit) {
      wrong.push_back(file.name + ": " + std::to_string(file.lines.size()) + " lines");
    }
  }
  EXPECT_THAT(wrong, IsEmpty())
      << "split them; from 400 to 600 lines a '// Long because:' line may say why not";
}

TEST(Architecture, ClassesNearThreadsSayWhichThreadTheyBelongTo) {
  const std::vector<std::string> threading = {"<mutex>", "<thread>", "<atomic>",
                                              "<condition_variable>"};
  const std::vector<std::string> words = {"ront thread", "ngine thread", "ndex thread", "mmutable",
                                          "hread-safe"};
  std::vector<std::string> wrong;
  for (const SourceFile& file : sources({"lsp", "engine", "indexer"})) {
    const auto threads = [&](const std::string& include) {
      return std::ranges::find(threading, "<" + include + ">") != threading.end();
    };
    if (!file.header() || std::ranges::none_of(file.includes, threads)) continue;
    std::string comment;
    for (const std::string& line : file.lines) {
      if (line.starts_with("///")) {
        comment += line;
        continue;
      }
      const bool type = line.starts_with("class ") && line.find(';') == std::string::npos;
      const bool said = std::ranges::any_of(
          words, [&](const std::string& word) { return comment.find(word) != std::string::npos; });
      if (type && !said) wrong.push_back(file.name + ": " + line);
      comment.clear();
    }
  }
  EXPECT_THAT(wrong, IsEmpty())
      << "front thread, engine thread, index thread, immutable or thread-safe";
}

TEST(Architecture, TestDataStaysSmallAndHasAnOwner) {
  uint64_t bytes = 0;
  for (const auto& item : fs::recursive_directory_iterator(kRoot / "tests/data")) {
    if (item.is_regular_file()) bytes += item.file_size();
  }
  EXPECT_LE(bytes, 40u << 20);
  std::ifstream notice(kRoot / "tests/data/NOTICE.md");
  std::ostringstream text;
  text << notice.rdbuf();
  for (const auto& item : fs::directory_iterator(kRoot / "tests/data")) {
    if (!item.is_directory() || fs::exists(item.path() / "README.md") ||
        fs::exists(item.path() / "NOTICE.md")) {
      continue;
    }
    EXPECT_NE(text.str().find("`" + item.path().filename().string() + "/"), std::string::npos)
        << item.path().filename()
        << " is not in tests/data/NOTICE.md and has no README.md: where is it from, under which "
           "licence?";
  }
}

}  // namespace

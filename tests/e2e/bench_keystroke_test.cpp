// `foretoken bench keystroke` as scripts use it: the books balance; what cannot be is told in a line.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"

namespace foretoken {
namespace {

using nlohmann::json;
using test::Program;
using test::Ran;

void write_texts(const Program& p) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "def area_" + std::to_string(i) + "(width):\n    return width * 2\n\n\n";
  p.folder().write("a.py", text);
  p.folder().write("b.py", text);
}

void expect_balance(const json& keys) {
  EXPECT_EQ(keys["keys"], keys["answered"].get<int>() + keys["superseded"].get<int>() + keys["failed"].get<int>());
  int sources = 0;
  for (const auto& [name, count] : keys["sources"].items()) sources += count.get<int>();
  EXPECT_EQ(keys["answered"], sources);
  EXPECT_EQ(keys["latency_ms"]["count"], keys["answered"]);
  EXPECT_EQ(keys["new_tokens"]["count"], keys["sources"]["engine"]);
}

TEST(BenchKeystroke, BooksBalance) {
  const Program p;
  write_texts(p);
  const Ran ran = p.run("bench keystroke a.py b.py --model pocket --pace fast --keys 8 --json");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json out = json::parse(ran.out);
  EXPECT_EQ(out["phases"].size(), 6u);
  for (const json& phase : out["phases"]) {
    EXPECT_EQ(phase["keys"], 8) << phase;
    EXPECT_EQ(phase["superseded"], 0) << phase;  // each key waits for the last one
    expect_balance(phase);
  }
  int kinds = 0;
  for (const auto& [name, keys] : out["kinds"].items()) {
    kinds += keys["keys"].get<int>();
    expect_balance(keys);
  }
  EXPECT_EQ(kinds, 48);
  EXPECT_EQ(out["all"]["keys"], 48);
  EXPECT_EQ(out["model"], "pocket");
  EXPECT_FALSE(out.contains("peer"));
}

TEST(BenchKeystroke, KeysGoOnWhetherOrNotTheyAreAnswered) {
  const Program p;
  write_texts(p);
  const Ran ran = p.run("bench keystroke a.py --model pocket --phases bursts,two_files --keys 6 --json");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json out = json::parse(ran.out);
  ASSERT_EQ(out["phases"].size(), 1u);
  EXPECT_EQ(out["phases"][0]["name"], "bursts");
  expect_balance(out["phases"][0]);
  EXPECT_EQ(out["skipped"][0]["name"], "two_files");  // one file is not two
}

TEST(BenchKeystroke, PrintsATable) {
  const Program p;
  write_texts(p);
  const Ran ran = p.run("bench keystroke a.py --model pocket --pace fast --phases steady --keys 3");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_NE(ran.out.find("steady"), std::string::npos);
  EXPECT_NE(ran.out.find("within_line"), std::string::npos);
}

struct Wrong {
  const char* arguments;
  int status;
  const char* says;
};
const Wrong kWrong[] = {
    {"bench keystroke", 2, "files"},
    {"bench keystroke missing.py", 1, "missing.py"},
    {"bench keystroke empty.py", 1, "nothing to type"},
    {"bench keystroke a.py --phases nosuch", 2, "nosuch"},
    {"bench keystroke a.py --keys 0", 2, "--keys"},
    {"bench keystroke a.py --peer-server ./missing", 1, "./missing"},
    {"bench keystroke a.py --peer-server /bin/false", 1, "/bin/false"},
    {"bench keystroke a.py --peer-server ./a.py", 1, "./a.py"},
    {"bench keystroke a.py --model pocket --peer-server ./says_version", 1, "1450 tokens"},
    {"bench keystroke long.py --model pocket --phases none --peer-server ./says_version", 1,
     "ended before it was ready: no such flag"},
};

TEST(BenchKeystroke, SaysWhatIsWrongInOneLine) {
  const Program p;
  write_texts(p);
  p.folder().write("empty.py", "\n\n");
  std::string text;
  for (int i = 0; i < 400; ++i) text += "total_" + std::to_string(i) + " = some_function(first, second)\n";
  p.folder().write("long.py", text);
  const auto peer = p.folder().write(
      "says_version",
      "#!/bin/sh\n[ \"$1\" = --version ] && echo 'version: 1 (abc)' && exit 0\necho 'no such flag' >&2\nexit 1\n");
  std::filesystem::permissions(peer, std::filesystem::perms::owner_all);
  for (const Wrong& wrong : kWrong) {
    const Ran ran = p.run(wrong.arguments);
    EXPECT_EQ(ran.status, wrong.status) << wrong.arguments << "\n" << ran.errors;
    EXPECT_NE(ran.errors.find(wrong.says), std::string::npos) << wrong.arguments << "\n" << ran.errors;
    EXPECT_EQ(ran.out, "") << wrong.arguments;
  }
}

}  // namespace
}  // namespace foretoken

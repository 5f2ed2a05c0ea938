// Scripts of keys: whatever the fingers do on the way, the file comes out as it was.
#include "lsp/typing_script.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lsp/percentiles.h"
#include "tests/support/models.h"
#include "tests/support/temp_folder.h"

namespace foretoken::lsp {
namespace {

const char kPython[] =
    "import os\n\n\nclass Box:\n    \"\"\"It's a box.\"\"\"\n\n    def area(self, w=(1, 2)):\n"
    "        # don't (ever\n        if w and self.names[\"a\"]:\n            return foo(\n"
    "                w[0],\n                'b',\n            )\n\n        return {\n"
    "            \"x\": [1, 2],\n        }\n\n\nprint(Box().area())\n";
const char kCpp[] =
    "int main() {\n\tif (argc > 1) {\n\t\tputs(\"a (b\");\n\n\t}\n\n\treturn f({1, 2},\n\t         '\\'');\n}\n"
    "// \xC3\xA4\xE2\x82\xAC \"quoted\"\nint x[] = {\n};\n";

std::vector<std::string> texts() {
  std::string crlf;
  for (const char c : std::string(kPython)) crlf += c == '\n' ? "\r\n" : std::string(1, c);
  return {kPython, kCpp, crlf, "", "x", "\n\n\n", "  \n    \n\t\n)(\n", "a = (\n\n)\n", "a = (\nb\n\n)",
          test::read_file(std::string(FORETOKEN_SOURCE_DIR) + "/lsp/typist.cpp"),
          test::read_file(std::string(FORETOKEN_SOURCE_DIR) + "/tests/bench/peer_model.py"),
          test::read_file(std::string(FORETOKEN_SOURCE_DIR) + "/lsp/models.json")};
}

std::vector<std::string> replayed(const TypingScript& script) {
  std::vector<std::string> documents = script.texts;
  for (const Key& key : script.keys) {
    std::string& text = documents[key.document];
    EXPECT_LE(key.start + key.erased, text.size());
    text.replace(key.start, key.erased, key.inserted);
    EXPECT_LE(key.cursor, text.size());
  }
  return documents;
}

TEST(TypingScript, GivesBackTheFileWhateverHappensOnTheWay) {
  const auto all = texts();
  for (const Phase phase : kPhases) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      for (size_t i = 0; i < all.size(); ++i) {
        SCOPED_TRACE(std::string(name(phase)) + ", seed " + std::to_string(seed) + ", text " +
                     std::to_string(i));
        const double where = double(seed % 4) / 4;
        std::vector<TypedRegion> regions = {choose_region(all[i], where, 10)};
        if (phase == Phase::two_files) regions.push_back(choose_region(all[(i + 1) % all.size()], where, 10));
        const TypingScript script = make_typing_script(regions, phase, seed, 100000);
        const auto documents = replayed(script);
        EXPECT_EQ(documents[0], all[i]);
        if (documents.size() > 1) {
          EXPECT_EQ(documents[1], all[(i + 1) % all.size()]);
        }
        EXPECT_TRUE(std::ranges::is_sorted(script.keys, {}, &Key::at_ms));
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

/// The keys of a text that is typed from nothing: "|" is the cursor after each.
std::vector<std::string> states(const std::string& text, size_t most) {
  const TypingScript script =
      make_typing_script({TypedRegion{text, 0, text.size()}}, Phase::steady, 1, most);
  std::vector<std::string> out;
  std::string document = script.texts[0];
  for (const Key& key : script.keys) {
    document.replace(key.start, key.erased, key.inserted);
    out.push_back(std::string(name(key.kind)) + " " + document.substr(0, key.cursor) + "|" +
                  document.substr(key.cursor));
  }
  return out;
}

TEST(TypingScript, ClosersOfTheEditorAreTypedOver) {
  EXPECT_EQ(states("f(a)", 9), (std::vector<std::string>{"character f|", "auto_closed f(|)",
                                                         "character f(a|)", "typed_over f(a)|"}));
  EXPECT_EQ(states("['']", 9),
            (std::vector<std::string>{"auto_closed [|]", "auto_closed ['|']", "typed_over [''|]",
                                      "typed_over ['']|"}));
  EXPECT_EQ(states("(", 9), (std::vector<std::string>{"character (|"}));  // never closed
}

TEST(TypingScript, LineBreaksIndentAsEditorsDo) {
  EXPECT_EQ(states("a{\n  b\n}", 9),
            (std::vector<std::string>{"character a|", "auto_closed a{|}", "line_break a{\n  |\n}",
                                      "character a{\n  b|\n}", "typed_over a{\n  b\n}|"}));
  EXPECT_EQ(states("  x:\n  y", 9),
            (std::vector<std::string>{"character   |", "character   x|", "character   x:|",
                                      "line_break   x:\n    |", "backspace   x:\n  |",
                                      "character   x:\n  y|"}));
  EXPECT_EQ(states("  a\n\n  b", 9),
            (std::vector<std::string>{"character   |", "character   a|", "line_break   a\n  |",
                                      "line_break   a\n\n  |", "character   a\n\n  b|"}));
}

TEST(TypingScript, IsDecidedByTheSeed) {
  const std::vector<TypedRegion> regions = {choose_region(kPython, 0, 10)};
  const auto keys = [&](uint64_t seed) {
    std::string all;
    for (const Key& key : make_typing_script(regions, Phase::backspaces, seed, 1000).keys) {
      all += std::to_string(key.at_ms) + name(key.kind) + key.inserted + ";";
    }
    return all;
  };
  EXPECT_EQ(keys(3), keys(3));
  EXPECT_NE(keys(3), keys(4));
}

TEST(TypingScript, EveryPhaseDwellsOnWhatItIsNamedAfter) {
  const std::string text = test::read_file(std::string(FORETOKEN_SOURCE_DIR) + "/lsp/typist.cpp");
  const std::vector<TypedRegion> one = {choose_region(text, 0.3, 400)}, two = {one[0], choose_region(text, 0.6, 400)};
  const auto count = [&](Phase phase, KeyKind kind) {
    const auto script = make_typing_script(phase == Phase::two_files ? two : one, phase, 1, 400);
    EXPECT_GT(script.keys.size(), 300u) << name(phase);
    return std::ranges::count(script.keys, kind, &Key::kind);
  };
  EXPECT_GT(count(Phase::steady, KeyKind::auto_closed), 3);
  EXPECT_GT(count(Phase::backspaces, KeyKind::backspace), 20);
  EXPECT_GT(count(Phase::line_breaks, KeyKind::line_break), 40);
  EXPECT_GT(count(Phase::two_files, KeyKind::switch_file), 20);
  EXPECT_GT(count(Phase::accept, KeyKind::accept), 10);
  const auto bursts = make_typing_script(one, Phase::bursts, 1, 400);
  size_t quick = 0;
  for (size_t i = 1; i < bursts.keys.size(); ++i) {
    quick += bursts.keys[i].at_ms - bursts.keys[i - 1].at_ms < 30.001;
  }
  EXPECT_GT(quick, 300u);
}

TEST(Percentiles, AreValuesThatWereMeasured) {
  EXPECT_EQ(percentiles({}).count, 0u);
  const Percentiles one = percentiles({7});
  EXPECT_EQ(one.p50, 7);
  EXPECT_EQ(one.p99, 7);
  std::vector<double> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  const Percentiles many = percentiles(hundred);
  EXPECT_EQ(many.min, 1);
  EXPECT_EQ(many.p50, 50);
  EXPECT_EQ(many.p95, 95);
  EXPECT_EQ(many.p99, 99);
  EXPECT_EQ(many.max, 100);
  EXPECT_EQ(percentiles({1, 2}).p50, 1);
}

}  // namespace
}  // namespace foretoken::lsp

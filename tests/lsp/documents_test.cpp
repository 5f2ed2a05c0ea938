#include "lsp/documents.h"

#include <chrono>
#include <climits>
#include <random>

#include <gmock/gmock.h>

#include "lsp/edited_text.h"

namespace foretoken::lsp {
namespace {

using testing::IsNull;

ContentChange edit(Position start, Position end, std::string text) {
  return {Range{start, end}, std::move(text)};
}

ContentChange whole(std::string text) {
  return {std::nullopt, std::move(text)};
}

TEST(Documents, OneDocumentUnderEverySpellingOfItsUri) {
  Documents documents;
  documents.open("file:///c%3A/My%20Code/%C3%A4.py", "python", 1, "x\n");
  for (const char* spelling : {"file:///C:/My%20Code/%c3%a4.py", "FILE://localhost/c:/My Code/ä.py",
                               "file:///c%3a/My%20Code/%c3%a4%2Epy", "file:/C%3A/My%20Code/ä.py"}) {
    ASSERT_NE(documents.find(spelling), nullptr) << spelling;
    EXPECT_TRUE(documents.change(spelling, 2, {edit({0, 0}, {0, 0}, "y")}));
    EXPECT_EQ(documents.find(spelling)->uri(), spelling);  // the answer has the client's spelling
  }
  ASSERT_EQ(documents.all().size(), 1u);
  EXPECT_EQ(documents.all()[0]->text(), "yyyyx\n");
  EXPECT_EQ(documents.all()[0]->language(), "python");
  documents.close("file:///C:/My Code/ä.py");
  EXPECT_THAT(documents.find("file:///c%3A/My%20Code/%C3%A4.py"), IsNull());
}

TEST(Documents, UrisThatDiffer) {
  EXPECT_NE(canonical_uri("file:///a%2Fb"), canonical_uri("file:///a/b"));
  EXPECT_NE(canonical_uri("file:///a+b"), canonical_uri("file:///a%20b"));
  EXPECT_NE(canonical_uri("file:///A"), canonical_uri("file:///a"));
  EXPECT_NE(canonical_uri("file://host/a"), canonical_uri("file:///a"));
  EXPECT_NE(canonical_uri("untitled:Untitled-1"), canonical_uri("untitled:Untitled-2"));
  EXPECT_NE(canonical_uri("vscode-notebook-cell:/a.ipynb#W0"),
            canonical_uri("vscode-notebook-cell:/a.ipynb#W1"));
  EXPECT_EQ(canonical_uri("git:/a%2e.py?x%7e"), canonical_uri("GIT:/a..py?x~"));
  EXPECT_EQ(canonical_uri("file://HOST/a"), canonical_uri("file://host/a"));
  for (const char* odd : {"", ":", "%", "file:", "file://", "file:x", "file:///%", "file:///%4"}) {
    EXPECT_EQ(canonical_uri(canonical_uri(odd)), canonical_uri(odd)) << odd;
  }
}

TEST(Documents, PathsOfUris) {
  EXPECT_EQ(path_of_uri("file:///a%20b.py"), "/a b.py");
  EXPECT_EQ(path_of_uri("file://localhost/a/%E6%BC%A2+1"), "/a/漢+1");
  for (const char* none : {"untitled:Untitled-1", "file://host/a", "file:///a%", "file:///a%0", "",
                           "file:///a%00b", "file:///a%2fb", "http://x/a", "file:a", "file://"}) {
    EXPECT_EQ(path_of_uri(none), "") << none;
  }
  const std::string path = "/we ird/%41#?é:&\xFF.py";
  EXPECT_EQ(path_of_uri(uri_of_path(path)), path);
  EXPECT_EQ(canonical_uri(uri_of_path(path)), uri_of_path("/we ird/%41#?é:&\xFF.py"));
}

TEST(Documents, SnapshotsStayAsTheyWere) {
  Documents documents;
  documents.open("file:///a", "c", 1, "one\n");
  const auto before = documents.find("file:///a");
  documents.change("file:///a", 2, {edit({0, 3}, {1, 0}, "")});
  documents.open("file:///a", "cpp", 9, "new");  // open again: replaced
  EXPECT_EQ(before->text(), "one\n");
  EXPECT_EQ(before->version(), 1);
  EXPECT_EQ(documents.find("file:///a")->text(), "new");
  EXPECT_EQ(documents.find("file:///a")->language(), "cpp");
  EXPECT_EQ(documents.find("file:///a")->path(), "/a");
}

TEST(Documents, ChangesApplyOneAfterTheOther) {
  Documents documents;
  documents.open("u:1", "c", 1, "ab\ncd\n");
  EXPECT_TRUE(documents.change(
      "u:1", 5,
      {edit({1, 0}, {1, 0}, "x\ny"), edit({2, 1}, {2, 2}, "Z"), edit({0, 2}, {1, 0}, "")}));
  EXPECT_EQ(documents.find("u:1")->text(), "abx\nyZd\n");
  EXPECT_EQ(documents.find("u:1")->version(), 5);
  EXPECT_TRUE(documents.change("u:1", 5, {whole("new\n"), edit({0, 0}, {0, 1}, "N")}));
  EXPECT_EQ(documents.find("u:1")->text(), "New\n");
}

struct FitCase {
  const char* what;
  Range range;
  bool fits;
  const char* text;  // of "ab\ncd" after replacing the range by "!"
};

TEST(Documents, RangesThatFitAndThatDoNot) {
  const FitCase cases[] = {
      {"past the line's end", {{0, 1}, {0, 99}}, true, "a!\ncd"},
      {"both past the line's end", {{0, 9}, {0, 5}}, true, "ab!\ncd"},
      {"the line after the last", {{1, 2}, {2, 0}}, true, "ab\ncd!"},
      {"from the line after the last", {{2, 0}, {2, 0}}, true, "ab\ncd!"},
      {"the whole text, end unknown", {{0, 0}, {INT_MAX, INT_MAX}}, true, "!"},
      {"two lines past the end", {{1, 0}, {3, 0}}, false, "ab\ncd"},
      {"start past the end", {{3, 0}, {3, 0}}, false, "ab\ncd"},
      {"start after end", {{1, 1}, {1, 0}}, false, "ab\ncd"},
      {"start line after end line", {{1, 0}, {0, 1}}, false, "ab\ncd"},
  };
  for (const FitCase& c : cases) {
    SCOPED_TRACE(c.what);
    Documents documents;
    documents.open("u:1", "c", 1, "ab\ncd");
    EXPECT_EQ(documents.change("u:1", 2, {{c.range, "!"}}), c.fits);
    EXPECT_EQ(documents.find("u:1")->in_sync(), c.fits);
    EXPECT_EQ(documents.find("u:1")->text(), c.text);
  }
}

TEST(Documents, OutOfSyncUntilAFullText) {
  Documents documents;
  documents.open("u:1", "c", 1, "ab");
  EXPECT_FALSE(documents.change("u:1", 2, {edit({7, 0}, {7, 1}, "x"), edit({0, 0}, {0, 0}, "y")}));
  EXPECT_FALSE(documents.change("u:1", 3, {edit({0, 0}, {0, 0}, "y")}));
  EXPECT_EQ(documents.find("u:1")->text(), "ab");  // as it was when last known
  EXPECT_EQ(documents.find("u:1")->version(), 3);
  EXPECT_TRUE(documents.change("u:1", 4, {whole("cd"), edit({0, 0}, {0, 0}, "y")}));
  EXPECT_EQ(documents.find("u:1")->text(), "ycd");
  documents.change("u:1", 5, {edit({7, 0}, {7, 1}, "x")});
  documents.open("u:1", "c", 6, "ef");
  EXPECT_TRUE(documents.find("u:1")->in_sync());

  EXPECT_FALSE(documents.change("u:2", 1, {edit({0, 0}, {0, 0}, "x")}));  // never opened
  EXPECT_FALSE(documents.find("u:2")->in_sync());
  EXPECT_TRUE(documents.change("u:2", 2, {whole("x")}));
  EXPECT_TRUE(documents.find("u:2")->in_sync());
  documents.close("u:3");
  EXPECT_THAT(documents.find("u:3"), IsNull());
}

TEST(Documents, LfViewAndItsOffsets) {
  const Snapshot dos("file:///a", "c", 1, "é\r\n\r\nab\rc\n");
  EXPECT_EQ(dos.lf(), "é\n\nab\nc\n");
  EXPECT_EQ(dos.line_end(), "\r\n");
  const size_t expected[] = {0, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9};
  for (size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(dos.to_lf_offset(i), expected[i]) << i;
  EXPECT_EQ(dos.to_lf_offset(1000), 9u);
  const Snapshot unix_text("file:///a", "c", 1, "a\nb");
  EXPECT_EQ(&unix_text.lf(), &unix_text.text());
  EXPECT_EQ(unix_text.line_end(), "\n");
  EXPECT_EQ(Snapshot("u:", "", 0, "a\rb\rc\n").line_end(), "\r");
  EXPECT_EQ(Snapshot("u:", "", 0, "a\r\nb\nc\n").line_end(), "\n");
  EXPECT_EQ(Snapshot("u:", "", 0, "").line_end(), "\n");
}

// The dull model of an edit: build the index anew, replace in one string.
bool replace_dully(std::string& text, const Range& range, PositionEncoding encoding,
                   const std::string& by) {
  const LineIndex lines(text);
  const size_t from = offset_of(text, lines, range.start, encoding);
  const size_t to = offset_of(text, lines, range.end, encoding);
  if (from > to) return false;
  text.replace(from, to - from, by);
  return true;
}

TEST(Documents, EditsInPiecesEqualEditsInOneString) {
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return static_cast<uint32_t>(random() % n); };
  const std::string big = std::string(20000, 'b') + "é\r\n" + std::string(15000, 'c');
  const std::string inserts[] = {"",
                                 "x",
                                 "\n",
                                 "\r",
                                 "\r\n",
                                 "😀",
                                 "a\nb\r\nc",
                                 big,
                                 std::string(40000, '\n'),
                                 big + "\n" + big + "\r"};
  for (int round = 0; round < 60; ++round) {
    std::string text;
    for (uint32_t i = below(4); i > 0; --i) text += inserts[below(std::size(inserts))];
    EditedText edited(text, LineIndex(text));
    for (int step = 0; step < 12; ++step) {
      const uint32_t line = below(LineIndex(text).lines() + 1);
      const uint32_t down = below(3) == 0 ? below(20) : 0;
      const Range range{{line, below(6)}, {line + down, below(4) == 0 ? 30000 : below(8)}};
      const std::string& by = inserts[below(std::size(inserts))];
      const auto encoding = static_cast<PositionEncoding>(below(3));
      ASSERT_EQ(edited.replace(range, encoding, by), replace_dully(text, range, encoding, by));
      ASSERT_EQ(edited.str(), text) << "round " << round << " step " << step;
      ASSERT_EQ(edited.lines(), LineIndex(text).lines());
    }
  }
}

TEST(Documents, ManyEditsOfABigDocument) {
  std::string text;
  while (text.size() < 10 << 20) text += "    result = compute(something, other)\n";
  const auto lines = static_cast<uint32_t>(LineIndex(text).lines());
  std::vector<ContentChange> changes;
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint32_t line = i * 131 % lines;
    changes.push_back(edit({line, 4}, {line, 10}, "value\n"));
  }
  Documents documents;
  documents.open("u:1", "python", 1, text);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(documents.change("u:1", 2, changes));
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(documents.find("u:1")->lines().lines(), lines + 1000);
  EXPECT_LT(took, std::chrono::seconds(5));  // in one string: 1000 x 10 MB, and an index each
}

}  // namespace
}  // namespace foretoken::lsp

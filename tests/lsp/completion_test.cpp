// From documents to answers with a real (small) engine: what the server and the command line share.
#include "lsp/completion.h"

#include <gtest/gtest.h>

#include <future>

#include "lsp/local_engine.h"
#include "tests/support/models.h"

namespace foretoken::lsp {
namespace {

std::shared_ptr<const Snapshot> document(std::string text) {
  return std::make_shared<Snapshot>("file:///p/a.py", "python", 1, std::move(text));
}

struct FinishCase {
  const char* text;             // ^ is the cursor
  const char* raw;
  bool from_line_start;
  const char* accepted;         // the document after accepting
};
const FinishCase kFinish[] = {
    {"x = ^\n", "1 + 2", false, "x = 1 + 2\n"},
    {"f(^)\n", "a, b)", false, "f(a, b)\n"},
    {"def f():\r\n    ^\r\n", "return 1", false, "def f():\r\n    return 1\r\n"},
    {"if a:\n    b()\n    ^\nd()\n", "else:", true, "if a:\n    b()\nelse:\nd()\n"},
    {"if a:\n    ^\n", "    b()", true, "if a:\n    b()\n"},
};

TEST(FinishAnswer, TurnsRawTextIntoAnEditOfTheCursorsLine) {
  for (const FinishCase& c : kFinish) {
    std::string text = c.text;
    const size_t cursor = text.find('^');
    text.erase(cursor, 1);
    const auto doc = document(text);
    CompletionAnswer answer;
    finish_answer(*doc, cursor, c.raw, c.from_line_start, &answer);
    ASSERT_LE(answer.start, cursor);
    ASSERT_GE(answer.end, cursor);
    text.replace(answer.start, answer.end - answer.start, answer.text);
    EXPECT_EQ(text, c.accepted) << c.text << " + " << c.raw;
  }
}

TEST(FinishAnswer, CursorRangesStayInTheLineOfACrlfFile) {
  const auto doc = document("a\r\nb = (\r\n");
  CompletionAnswer answer;
  finish_answer(*doc, 8, "1)", false, &answer);
  EXPECT_EQ(answer.start, 8u);
  EXPECT_EQ(answer.end, 8u);
}

class EngineCompleterTest : public testing::Test {
 protected:
  EngineCompleterTest()
      : completer_(std::make_shared<LocalEngine>(std::make_shared<engine::Engine>(
                       test::load(test::pocket_path()))),
                   Options{}) {}
  CompletionAnswer complete(CompletionQuery query) {
    std::promise<CompletionAnswer> answered;
    completer_.start(std::move(query), [&](CompletionAnswer a) { answered.set_value(std::move(a)); });
    return answered.get_future().get();
  }
  static CompletionQuery query(std::string marked) {
    CompletionQuery q;
    q.cursor = marked.find('^');
    marked.erase(q.cursor, 1);
    q.document = document(std::move(marked));
    q.path = "a.py";
    return q;
  }
  EngineCompleter completer_;
};

TEST_F(EngineCompleterTest, CompletesTheWordAtTheCursor) {
  const CompletionAnswer answer = complete(query("def area(width, height):\n    return wid^\n"));
  EXPECT_EQ(answer.error, "");
  EXPECT_TRUE(answer.text.starts_with("th")) << answer.text;
  EXPECT_EQ(answer.model, "pocket-q8_0");
}

TEST_F(EngineCompleterTest, CrlfAndLfTwinsGiveTheSamePromptAndText) {
  CompletionQuery lf = query("import os\ndef area(width, height):\n    return wid^\nprint(1)\n");
  CompletionQuery crlf = query("import os\r\ndef area(width, height):\r\n    return wid^\r\nprint(1)\r\n");
  lf.want_prompt = crlf.want_prompt = true;
  const CompletionAnswer a = complete(lf), b = complete(crlf);
  EXPECT_EQ(a.prompt, b.prompt);
  EXPECT_EQ(a.text, b.text);
}

TEST_F(EngineCompleterTest, BytesThatAreNoTextStayOutOfTheAnswer) {
  CompletionQuery q = query("x = '\xff\xfe\x80'\nprint(^)\n");
  const CompletionAnswer answer = complete(q);
  EXPECT_EQ(answer.error, "");
  EXPECT_TRUE(is_valid_utf8(answer.text));
}

TEST_F(EngineCompleterTest, RawTextGoesThroughTheRulesWithoutAModel) {
  CompletionQuery q = query("foo(bar(^))\n");
  q.raw = "g(x)\nmore";
  const CompletionAnswer answer = complete(q);
  EXPECT_EQ(answer.text, "g(x)");
  EXPECT_EQ(answer.model, "raw");
}

}  // namespace
}  // namespace foretoken::lsp

// Answers without the model: true where the document is the same but for what was typed, else none.
#include "lsp/suggestions.h"

#include <gtest/gtest.h>

#include <random>

#include "lsp/completion.h"
#include "tests/support/fake_engine_link.h"

namespace foretoken::lsp {
namespace {

CompletionQuery query(std::string marked, const std::string& uri = "file:///w/a.py") {
  CompletionQuery q;
  q.cursor = marked.find('^');
  marked.erase(q.cursor, 1);
  q.document = std::make_shared<const Snapshot>(uri, "python", 0, std::move(marked));
  q.path = "a.py";
  return q;
}

class SuggestionsTest : public testing::Test {
 protected:
  SuggestionsTest() : link_(std::make_shared<FakeEngineLink>()), completer_(link_, Options{}) {}

  CompletionAnswer ask(CompletionQuery q) {
    std::optional<CompletionAnswer> answer;
    completer_.start(std::move(q), [&](CompletionAnswer a) { answer = std::move(a); });
    EXPECT_TRUE(answer.has_value());
    return answer.value_or(CompletionAnswer{});
  }
  CompletionAnswer ask(const std::string& marked) { return ask(query(marked)); }
  size_t engine_calls() const { return link_->submitted.size(); }

  const std::shared_ptr<FakeEngineLink> link_;
  EngineCompleter completer_;
};

struct Then {
  const char* what;
  const char* asked;     // the engine is asked here…
  const char* says;      // …and says this
  const char* then;      // then the user asks here
  const char* source;    // who answers
  const char* text;      // what
};
const Then kThen[] = {
    {"typed through", "x = fo^\n", "o(bar)", "x = foo^\n", "typed_through", "(bar)"},
    {"typed through further", "x = fo^\n", "o(bar)", "x = foo(ba^\n", "typed_through", "r)"},
    {"the same place again", "x = fo^\n", "o(bar)", "x = fo^\n", "cache", "o(bar)"},
    {"an opened bracket that the editor closed", "x = fo^\n", "o(bar)", "x = foo(^)\n", "typed_through", "bar)"},
    {"a word accepted", "x = ^\n", "first second", "x = first ^\n", "typed_through", "second"},
    {"a line accepted", "def f():\n    ^\n", "a = 1\n    return a", "def f():\n    a = 1\n    ^\n", "typed_through", "return a"},
    {"all of it accepted", "x = fo^\n", "o(bar)", "x = foo(bar)^\n", "engine", nullptr},
    {"typed otherwise", "x = fo^\n", "o(bar)", "x = fox^\n", "engine", nullptr},
    {"deleted further back", "x = fo^\n", "o(bar)", "x = f^\n", "engine", nullptr},
    {"an edit above", "# a\nx = fo^\n", "o(bar)", "# b\nx = foo^\n", "engine", nullptr},
    {"a blank more above", "# a\nx = fo^\n", "o(bar)", "# a \nx = foo^\n", "engine", nullptr},
    {"an edit below", "x = fo^\ny = 1\n", "o(bar)", "x = foo^\ny = 2\n", "engine", nullptr},
    {"a blank more below", "x = fo^\ny = 1\n", "o(bar)", "x = foo^\ny =  1\n", "engine", nullptr},
    {"a line more below", "x = fo^\ny = 1\n", "o(bar)", "x = fo^\n\ny = 1\n", "engine", nullptr},
    {"the same text at another cursor", "fo = 1\nfo^\n", "o(bar)", "fo^ = 1\nfo\n", "engine", nullptr},
    {"CRLF for LF", "x = fo^\r\n", "o(bar)", "x = foo^\r\n", "typed_through", "(bar)"},
};

TEST_F(SuggestionsTest, AnswerOnlyWhereTheyAreTrue) {
  for (const Then& c : kThen) {
    const auto link = std::make_shared<FakeEngineLink>();
    EngineCompleter completer(link, Options{});
    const auto ask = [&](const char* marked) {
      CompletionAnswer answer;
      completer.start(query(marked), [&](CompletionAnswer a) { answer = std::move(a); });
      return answer;
    };
    link->says = c.says;
    ASSERT_EQ(ask(c.asked).text, c.says) << c.what;
    link->says = "from the engine";
    const CompletionAnswer answer = ask(c.then);
    EXPECT_STREQ(engine::name(answer.source), c.source) << c.what;
    EXPECT_EQ(link->submitted.size(), c.text ? 1u : 2u) << c.what;
    if (c.text) {
      EXPECT_EQ(answer.text, c.text) << c.what;
    }
    // Books are kept of every answer, and layouts follow the ones the engine did not give.
    EXPECT_EQ(link->accounts.size(), 2u) << c.what;
    EXPECT_EQ(link->observed.size(), c.text ? 1u : 0u) << c.what;
  }
}

TEST_F(SuggestionsTest, DeletedAndRetypedStaysKnown) {
  link_->says = "o(bar)";
  ask("x = f^");
  link_->says = "";
  for (const char* marked : {"x = fo^", "x = fo(^", "x = fo(b^", "x = fo(^", "x = fo^", "x = f^", "x = fo(ba^"}) {
    const CompletionAnswer answer = ask(marked);
    EXPECT_NE(answer.source, engine::Source::engine) << marked;
    EXPECT_FALSE(answer.text.empty()) << marked;
  }
  EXPECT_EQ(engine_calls(), 1u);
}

/// As much of the suggestion as anybody types, accepting the rest gives what accepting it at once would.
TEST_F(SuggestionsTest, KeepTheirEndWhileTheyAreTyped) {
  struct Case {
    const char* asked;
    const char* says;
  };
  const Case kCases[] = {
      {"^\"\"\"Text wrapping.\"\"\"\n", "from __future__ import annotations\n"},
      {"a\n^    Expand tabs.\n", "    First, unless\n"},
      {"x = [i for b i^])\n", "n range(blocks):"},
      {"foo(bar(^))\n", "g(x)"},
      {"def f(a^):\n    pass\n", ", b=1):"},
      {"if x:\n    ^\n", "return [\n        1,\n    ]"},
      {"if x:\r\n    ^\r\ny\r\n", "return [\n        1,\n    ]"},
      {"gr\xC3\xBC^\n", "\xC3\x9F""e = 1"},
  };
  for (const Case& c : kCases) {
    const auto link = std::make_shared<FakeEngineLink>();
    EngineCompleter completer(link, Options{});
    const auto ask = [&](CompletionQuery q) {
      CompletionAnswer answer;
      completer.start(std::move(q), [&](CompletionAnswer a) { answer = std::move(a); });
      return answer;
    };
    link->says = c.says;
    const CompletionQuery first = query(c.asked);
    const CompletionAnswer whole = ask(first);
    const auto at_once = accept(*first.document, whole);
    ASSERT_TRUE(at_once) << c.asked;
    link->says = "";
    const std::string text = first.document->text();
    const std::string line_end(first.document->line_end());
    std::string all;
    for (const char ch : whole.text) all += ch == '\n' ? line_end : std::string(1, ch);
    for (size_t typed = first.cursor - whole.start + 1; typed < all.size(); ++typed) {
      if ((all[typed] & 0xC0) == 0x80 || all[typed] == '\n') continue;  // inside a character
      const std::string before = text.substr(0, whole.start) + all.substr(0, typed);
      const CompletionQuery later = query(before + "^" + text.substr(first.cursor));
      const CompletionAnswer rest = ask(later);
      if (rest.text.empty()) {  // nothing left to add
        EXPECT_EQ(later.document->text(), at_once->document->text()) << c.asked << " after " << before;
        continue;
      }
      EXPECT_EQ(rest.source, engine::Source::typed_through) << before;
      EXPECT_EQ(accept(*later.document, rest)->document->text(), at_once->document->text()) << before;
    }
  }
}

TEST_F(SuggestionsTest, BelongToOneFileAndOneSetting) {
  link_->says = "o(bar)";
  ask(query("x = f^"));
  EXPECT_EQ(ask(query("x = f^", "file:///w/b.py")).source, engine::Source::engine);
  CompletionQuery other = query("x = f^");
  other.mode = engine::Mode::block;
  EXPECT_EQ(ask(other).source, engine::Source::engine);
  other = query("x = f^");
  other.max_tokens = 3;
  EXPECT_EQ(ask(other).source, engine::Source::engine);
  other = query("x = f^");
  other.path = "renamed.py";
  EXPECT_EQ(ask(other).source, engine::Source::engine);
  EXPECT_EQ(ask(query("x = f^", "file:///w/%61.py")).source, engine::Source::cache);
}

TEST_F(SuggestionsTest, AreNotUsedByThoseWhoWantTheEngine) {
  link_->says = "o(bar)";
  ask("x = f^");
  CompletionQuery q = query("x = f^");
  q.reuse = false;
  EXPECT_EQ(ask(q).source, engine::Source::engine);
  q = query("x = f^");
  q.from_engine = true;
  EXPECT_EQ(ask(q).source, engine::Source::engine);
  q = query("x = f^");
  q.want_card = true;
  EXPECT_EQ(ask(q).source, engine::Source::engine);
}

TEST_F(SuggestionsTest, SilenceIsRememberedForItsPlaceOnly) {
  link_->says = "";
  EXPECT_EQ(ask("x = f^").text, "");
  EXPECT_EQ(ask("x = f^").source, engine::Source::cache);
  EXPECT_EQ(ask("x = fo^").source, engine::Source::engine);
}

TEST_F(SuggestionsTest, CancelledAnswersAreNotRemembered) {
  link_->finish = engine::Finish::cancelled;
  ask("x = f^");
  link_->finish = engine::Finish::stop;
  link_->says = "oo";
  EXPECT_EQ(ask("x = f^").source, engine::Source::engine);
}

TEST_F(SuggestionsTest, AKnownAnswerSupersedesTheOlderRequestOfItsDocument) {
  link_->says = "o(bar)";
  ask("x = f^");
  link_->holds = true;
  std::vector<CompletionAnswer> older;
  completer_.start(query("x = q^"), [&](CompletionAnswer a) { older.push_back(std::move(a)); });
  EXPECT_EQ(ask("x = fo^").source, engine::Source::typed_through);
  ASSERT_EQ(older.size(), 1u);
  EXPECT_EQ(older.front().finish, engine::Finish::cancelled);
}

TEST_F(SuggestionsTest, WhatFollowsAnAcceptanceIsThereAtOnce) {
  link_->says = "o(bar)";
  ask("x = f^\n");
  ASSERT_EQ(link_->idle.size(), 1u);
  const engine::Request& ahead = link_->idle.front().first;
  EXPECT_EQ(*ahead.text, "x = fo(bar)\n");
  EXPECT_EQ(ahead.cursor, 11u);
  link_->answer_idle("\ny = 2");
  const CompletionAnswer next = ask("x = fo(bar)^\n");
  EXPECT_EQ(next.source, engine::Source::cache);
  EXPECT_EQ(next.text, "\ny = 2");
  EXPECT_EQ(engine_calls(), 1u);
}

TEST_F(SuggestionsTest, NothingIsComputedAheadWhereIdleWorkIsOff) {
  Options options;
  options.idle_ms = 0;
  EngineCompleter completer(link_, options);
  link_->says = "o(bar)";
  completer.start(query("x = f^\n"), [](CompletionAnswer) {});
  EXPECT_TRUE(link_->idle.empty());
}

TEST_F(SuggestionsTest, AreBounded) {
  Suggestions suggestions;
  CompletionAnswer answer;
  answer.text = "text";
  for (int i = 0; i < 500; ++i) {
    CompletionQuery q = query(std::string(200 << 10, 'x') + std::to_string(i) + "^");
    answer.start = answer.end = q.cursor;
    suggestions.remember(q, answer);
    EXPECT_LE(suggestions.bytes(), 33u << 20);
    EXPECT_TRUE(suggestions.find(q));
  }
  CompletionQuery giant = query(std::string(20 << 20, 'x') + "^");
  answer.start = answer.end = giant.cursor;
  suggestions.remember(giant, answer);
  EXPECT_FALSE(suggestions.find(giant));
}

/// Whatever is typed, deleted and edited: an answer without the engine, applied, gives the text that
/// the suggestion promised when it was shown.
TEST_F(SuggestionsTest, NeverGoStaleUnderRandomEdits) {
  std::mt19937 random(4);
  for (int game = 0; game < 300; ++game) {
    const auto link = std::make_shared<FakeEngineLink>();
    EngineCompleter completer(link, Options{});
    std::string before = "a = [1, 2]\n", after = "\nb = 3\n";
    std::vector<std::string> promised;  // documents after acceptance, as the engine's answers promise
    for (int step = 0; step < 30; ++step) {
      const unsigned what = random() % 8;
      if (what < 4) before += "ab("[random() % 3];
      if (what == 4 && before.size() > 12) before.pop_back();
      if (what == 5) after.insert(after.size() - 1, 1, 'c');
      if (what == 6) before.insert(0, "#\n");
      link->says = std::string(1 + random() % 6, "ab("[random() % 3]) + "b";
      CompletionQuery q = query(before + "^" + after);
      const size_t asked = link->submitted.size();
      CompletionAnswer answer;
      completer.start(q, [&](CompletionAnswer a) { answer = std::move(a); });
      const auto accepted = accept(*q.document, answer);
      const std::string result = accepted ? accepted->document->text() : before + after;
      if (link->submitted.size() > asked) {
        promised.push_back(result);
      } else {
        EXPECT_NE(std::find(promised.begin(), promised.end(), result), promised.end()) << result;
      }
    }
  }
}

}  // namespace
}  // namespace foretoken::lsp

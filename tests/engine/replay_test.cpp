// Typing sessions replayed against the engine: what each step may cost in tokens, and that reuse never
// changes an answer.
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <random>

#include "engine/engine.h"
#include "tests/support/models.h"

namespace foretoken::engine {
namespace {

/// One editing session: a text, a cursor, and an engine that is asked after every step.
class Session {
 public:
  Session(Engine& engine, std::string document) : engine_(engine), document_(std::move(document)) {}

  std::string before, after;
  std::vector<ContextItem> context;
  bool want_card = false;
  bool reuse = true;
  bool hashes = false;
  int max_tokens = 4;

  Completion ask() {
    Request r;
    r.document = r.path = document_;
    r.text = std::make_shared<const std::string>(before + after);
    r.cursor = before.size();
    r.max_tokens = max_tokens;
    r.context = context;
    r.want_card = want_card;
    r.reuse = reuse;
    r.want_hashes = hashes;
    std::promise<Completion> answered;
    engine_.submit(std::move(r), [&](Completion c) { answered.set_value(std::move(c)); });
    return answered.get_future().get();
  }
  /// The same without an answer: what a typed-through suggestion leaves.
  void observe() {
    Request r;
    r.document = r.path = document_;
    r.text = std::make_shared<const std::string>(before + after);
    r.cursor = before.size();
    r.reuse = reuse;
    engine_.observe(std::move(r));
  }
  void jump_to(size_t offset) {
    const std::string text = before + after;
    before = text.substr(0, offset);
    after = text.substr(offset);
  }

 private:
  Engine& engine_;
  const std::string document_;
};

std::string functions(int from, int count) {
  std::string text;
  for (int i = from; i < from + count; ++i) {
    const std::string n = std::to_string(i);
    text += "def area_" + n + "(width, height):\n    total = width * height + " + n + "\n    return total\n\n\n";
  }
  return text;
}

class TypingCost : public testing::Test {
 protected:
  static constexpr int kWindow = 600;
  TypingCost()
      : engine_(test::load(test::pocket_path(), {.window = kWindow}), {.replay = true}),
        session_(engine_, "a.py") {
    session_.before = functions(0, 40);
    session_.after = "\n" + functions(100, 40);
    cold_ = session_.ask().timings;
  }
  int tokens(const std::string& text) { return count_tokens(engine_.runtime().tokenizer(), text); }
  int suffix() {
    const LayoutLimits limits{.window = kWindow};
    return tokens(std::string(suffix_within(engine_.runtime().tokenizer(), session_.after, limits.suffix())));
  }
  Timings ask() { return session_.ask().timings; }

  Engine engine_;
  Session session_;
  Timings cold_;
};

/// What a step does to the text left and right of the cursor, and the tokens it may cost.
struct Step {
  const char* what;
  const char* typed;    // appended left of the cursor; '\b' takes a character back
  const char* closed;   // what the editor keeps right of the cursor from now on
  int most;
};
const Step kSteps[] = {
    {"a letter", "x", "", 4},
    {"a letter of the same word", "y", "", 4},
    {"a blank", " ", "", 4},
    {"an operator", "=", "", 4},
    {"digits", " 12", "", 8},
    {"an opened bracket, closed by the editor", "(", ")", 4},
    {"a quote in it, closed by the editor", "\"", "\")", 4},
    {"inside both", "ab", "\")", 6},
    {"the quote typed over", "\"", ")", 4},
    {"the bracket typed over", ")", "", 4},
    {"a line break", "\n", "", 4},
    {"a line break with indentation", "if total:\n    ", "", 12},
    {"backspace over the indentation", "\b\b\b\b", "", 8},
    {"a brace the editor closed on a line below", "{\n    ", "\n}", 8},
    {"a word pasted", "some_longer_name", "\n}", 16},
    {"and undone", "\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b", "\n}", 8},
    {"characters of several bytes", "# gr\xC3\xBC\xC3\x9F", "\n}", 12},
};

TEST_F(TypingCost, OfKeysIsTheKeys) {
  const std::string below = session_.after;
  for (const Step& step : kSteps) {
    for (const char c : std::string(step.typed)) {
      if (c == '\b') {
        session_.before.pop_back();
      } else {
        session_.before += c;
      }
    }
    session_.after = step.closed + below;
    const Timings t = ask();
    EXPECT_LE(t.new_tokens, step.most) << step.what;
    EXPECT_GE(t.reused_tokens, cold_.prompt_tokens - 8) << step.what;
  }
}

TEST_F(TypingCost, OfALongSessionNeverIncludesTheSuffix) {
  // Two hundred lines typed: anchors and windows move many times, each time before anybody asks.
  std::vector<int> costs;
  for (const char c : functions(200, 40)) {
    session_.before += c;
    costs.push_back(ask().new_tokens);
  }
  std::sort(costs.begin(), costs.end());
  EXPECT_LE(costs[costs.size() / 2], 2);
  EXPECT_LE(costs[costs.size() * 95 / 100], 6);
  EXPECT_LE(costs.back(), 12);
}

TEST_F(TypingCost, OfAJumpIsWhatLiesBetweenAndTheSuffix) {
  for (const int lines : {-3, -20, -1, 2, 10, -15}) {
    const std::string text = session_.before + session_.after;
    const size_t here = session_.before.size();
    size_t there = here;
    for (int i = 0; i < std::abs(lines); ++i) {
      there = lines < 0 ? text.rfind('\n', there - 1) : text.find('\n', there + 1);
    }
    session_.jump_to(there);
    const int between = tokens(text.substr(std::min(here, there), std::max(here, there) - std::min(here, there)));
    const int slack = 12;  // the line the cursor is on, control tokens, borders of words
    EXPECT_LE(ask().new_tokens, between + suffix() + slack) << lines << " lines";
  }
}

TEST_F(TypingCost, OfComingBackIsNothing) {
  const size_t here = session_.before.size();
  session_.jump_to(here - 300);
  ask();
  session_.jump_to(here);
  EXPECT_LE(ask().new_tokens, 2);
}

TEST_F(TypingCost, OfAnEditInTheSuffixCountsFromTheEdit) {
  // Half way through the text the prompt shows right of the cursor.
  const size_t at = session_.after.find('\n', 200);
  session_.after.insert(at, "  # changed");
  const Timings t = ask();
  EXPECT_LE(t.new_tokens, suffix() + 12);
  EXPECT_GE(t.reused_tokens, cold_.prompt_tokens / 2);
}

TEST_F(TypingCost, OfAnEditAboveCountsFromTheEdit) {
  const size_t at = session_.before.rfind('\n', session_.before.size() - 600);
  const int below_edit = tokens(session_.before.substr(at));
  session_.before.insert(at, "  # changed");
  const Timings t = ask();
  EXPECT_LE(t.new_tokens, below_edit + suffix() + 16);
}

TEST_F(TypingCost, OfAnEditAboveTheWindowIsNothing) {
  session_.before.insert(0, "import os\n");
  EXPECT_LE(ask().new_tokens, 2);
}

TEST_F(TypingCost, OfAnImportAddedAtTheTopWhileTypingIsTheTyping) {
  for (const char* word : {"us", "er", "\n"}) {
    session_.before.insert(0, "from module import name\n");
    session_.before += word;
    EXPECT_LE(ask().new_tokens, 6) << word;
  }
}

TEST_F(TypingCost, OfKeysInAGiantLineIsTheKeys) {
  for (const char* unit : {"12, ", "abc9", "x = y; "}) {
    Session other(engine_, std::string("giant") + unit);
    other.before = functions(0, 5) + "x = [";
    for (int i = 0; i < 4000; ++i) other.before += unit;
    other.after = "]\n" + functions(5, 5);
    other.ask();
    std::vector<int> costs;
    for (int i = 0; i < 40; ++i) {
      other.before += "1, 2"[i % 4];
      costs.push_back(other.ask().timings.new_tokens);
    }
    std::sort(costs.begin(), costs.end());
    EXPECT_LE(costs[20], 4) << unit;
    EXPECT_LE(costs[37], 24) << unit;
  }
}

TEST_F(TypingCost, OfAPasteIsThePaste) {
  const std::string paste = functions(300, 4);
  session_.before += paste;
  EXPECT_LE(ask().new_tokens, tokens(paste) + 8);
  session_.before.resize(session_.before.size() - paste.size());
  EXPECT_LE(ask().new_tokens, 40);  // undone: a tail that was cut back in place comes again
}

TEST_F(TypingCost, OfASecondFileIsPaidOnce) {
  Session other(engine_, "b.py");
  other.before = functions(500, 20);
  other.after = "\n" + functions(600, 20);
  other.ask();
  for (int i = 0; i < 6; ++i) {
    session_.before += "ab"[i % 2];
    other.before += "ab"[i % 2];
    EXPECT_LE(ask().new_tokens, 4);
    EXPECT_LE(other.ask().timings.new_tokens, 4);
  }
}

/// Paths of the context items in the prompt.
std::vector<std::string> context_of(const Completion& completion) {
  std::vector<std::string> paths;
  for (const CardRow& row : completion.card) {
    if (row.tier == "extended" && (paths.empty() || paths.back() != row.path)) paths.push_back(row.path);
  }
  return paths;
}

TEST_F(TypingCost, OfContextThatChangesWaitsForTheAnchor) {
  Session other(engine_, "c.py");
  other.want_card = true;
  other.before = functions(700, 20);
  other.after = "\n" + functions(800, 20);
  other.context = {{"definition", "one.py", "def one(a):\n    return a\n"}};
  EXPECT_EQ(context_of(other.ask()), std::vector<std::string>{"one.py"});
  // What is retrieved, and the history of edits, change with every key: it costs nothing.
  int changes = 0;
  for (const char c : functions(900, 16)) {
    other.before += c;
    other.context = {{"edit history", "edits", "edited line " + std::to_string(++changes) + "\n"},
                     {"definition", "two.py", "def two(b):\n    return b\n"}};
    EXPECT_LE(other.ask().timings.new_tokens, 12);
  }
  // The anchor has moved meanwhile, and the context with it.
  EXPECT_EQ(context_of(other.ask()), (std::vector<std::string>{"edits", "two.py"}));
}

TEST_F(TypingCost, OfContextThatIsTooLongIsNotPaid) {
  Session other(engine_, "d.py");
  other.want_card = true;
  other.before = "x = ";
  other.context = {{"snippet", "long.py", functions(0, 100)}, {"snippet", "short.py", "a = 1\n"}};
  EXPECT_EQ(context_of(other.ask()), std::vector<std::string>{"short.py"});
}

TEST_F(TypingCost, OfACrlfFileIsThatOfItsTwin) {
  // Line ends are LF before they come here (lsp/documents); the engine itself takes any bytes.
  Session other(engine_, "e.py");
  other.before = "a = 1\r\nb = ";
  other.after = "\r\n";
  other.ask();
  other.before += "x";
  EXPECT_LE(other.ask().timings.new_tokens, 4);
}

TEST_F(TypingCost, DoesNotDependOnTheSizeOfTheFile) {
  Session small(engine_, "small.py"), large(engine_, "large.py");
  small.before = functions(0, 100);
  large.before = functions(3000, 4000) + functions(0, 100);  // 20,000 lines above
  small.after = large.after = "\n" + functions(100, 40);
  EXPECT_EQ(small.ask().timings.prompt_tokens, large.ask().timings.prompt_tokens);
  for (const char c : std::string("total = area_1(2, 3)\n")) {
    small.before += c;
    large.before += c;
    EXPECT_EQ(small.ask().timings.new_tokens, large.ask().timings.new_tokens);
  }
}

/// How many random sessions are replayed. The full thousand takes minutes on plain loops; CI runs some.
int replays(int usual) {
  const char* wanted = std::getenv("FORETOKEN_REPLAYS");
  return wanted ? std::atoi(wanted) : usual;
}

/// Random keys, jumps, edits, second files. `step` sees both answers.
void replay_random_session(Engine& warm_engine, Engine& cold_engine, unsigned seed, int steps,
                           int64_t* reused) {
  std::mt19937 random(seed);
  std::vector<std::unique_ptr<Session>> warm, cold;
  for (const char* name : {"a.py", "b.py"}) {
    const std::string document = name + std::to_string(seed);
    warm.push_back(std::make_unique<Session>(warm_engine, document));
    cold.push_back(std::make_unique<Session>(cold_engine, document));
    warm.back()->hashes = cold.back()->hashes = true;
    cold.back()->reuse = false;
    warm.back()->before = cold.back()->before = functions(int(random() % 50), 3);
    warm.back()->after = cold.back()->after = "\n" + functions(int(random() % 50), 2);
  }
  static const char* const kKeys[] = {"a", "b", " ", "\n", "(", ")", "\n    ", "to", "1", "\xC3\xBC", "tal = "};
  for (int i = 0; i < steps; ++i) {
    const size_t which = random() % 8 == 0;
    Session &w = *warm[which], &c = *cold[which];
    const unsigned what = random() % 12;
    if (what < 8) {
      w.before += kKeys[random() % std::size(kKeys)];
      if (random() % 6 == 0) w.after = ")" + w.after;
    } else if (what == 8) {
      w.before.resize(w.before.size() - std::min<size_t>(w.before.size(), random() % 4));
    } else if (what == 9) {
      w.jump_to(random() % (w.before.size() + w.after.size()));
    } else if (what == 10) {
      w.after.insert(random() % (w.after.size() + 1), "z");
    } else {
      w.before.insert(random() % (w.before.size() + 1), "# y\n");
    }
    c.before = w.before;
    c.after = w.after;
    if (random() % 5 == 0) {  // answered elsewhere
      w.observe();
      c.observe();
      continue;
    }
    const Completion a = w.ask(), b = c.ask();
    ASSERT_EQ(a.error, "");
    ASSERT_EQ(a.hashes, b.hashes) << "seed " << seed << ", step " << i;
    ASSERT_EQ(a.text, b.text) << "seed " << seed << ", step " << i;
    ASSERT_FALSE(a.hashes.empty());
    ASSERT_EQ(b.timings.reused_tokens, 0);
    *reused += a.timings.reused_tokens;
  }
}

class Replay : public testing::TestWithParam<std::string> {};

TEST_P(Replay, ReuseNeverChangesAnAnswer) {
  const bool plain = GetParam() == "reference" || GetParam() == "guarded";
  const int sessions = replays(plain ? 4 : 60);
  for (const char* file : {"tiny/qwen2-q8_0.gguf", "tiny/llama-q4_k.gguf"}) {
    // A pool of few pages, so that eviction is part of the game.
    const test::LoadOptions small{.backend = GetParam(), .chunk = 48, .kv_bytes = 1, .window = 160};
    Engine warm(test::load(test::data_path(file), small), {.replay = true});
    Engine cold(test::load(test::data_path(file), small), {.replay = true});
    int64_t reused = 0;
    for (int i = 0; i < sessions; ++i) {
      ASSERT_NO_FATAL_FAILURE(replay_random_session(warm, cold, unsigned(i), 12, &reused)) << file;
    }
    EXPECT_GT(reused, sessions * 100);
  }
}
INSTANTIATE_TEST_SUITE_P(Backends, Replay, testing::ValuesIn(test::backends_and_guarded()),
                         [](const auto& info) { return info.param; });

TEST(RealModelReplay, ReuseNeverChangesAnAnswer) {
  const auto path = test::real_model("qwen2.5-coder-0.5b-q4_k_m.gguf");
  if (!path) GTEST_SKIP() << "FORETOKEN_TEST_MODELS names no folder with qwen2.5-coder-0.5b-q4_k_m.gguf";
  const test::LoadOptions options{.window = 400};
  Engine warm(test::load(*path, options), {.replay = true}), cold(test::load(*path, options), {.replay = true});
  int64_t reused = 0;
  const int sessions = replays(4);
  for (int i = 0; i < sessions; ++i) {
    ASSERT_NO_FATAL_FAILURE(replay_random_session(warm, cold, unsigned(i), 8, &reused));
  }
  EXPECT_GT(reused, sessions * 100);
}

}  // namespace
}  // namespace foretoken::engine

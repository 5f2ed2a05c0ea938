// Any document, any cursor, any model text: what accepting a completion may never do.
#include <array>
#include <chrono>
#include <random>

#include <gmock/gmock.h>

#include "lsp/insertion.h"
#include "lsp/text.h"

namespace foretoken::lsp {
namespace {

using std::string;
using std::string_view;

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  size_t below(size_t n) { return engine_() % n; }
  bool one_in(size_t n) { return below(n) == 0; }
  template <typename List>
  auto pick(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::mt19937 engine_;
};

// How a made-up language writes its blocks.
struct Style {
  const char* name;
  string unit;        // of indentation
  const char* open;   // of a block, at the end of its line
  const char* close;  // on a line of its own; "" for none
  const char* end;    // of a statement
  bool strings;       // may hold brackets, so the dull bracket count does not apply
};
const Style kStyles[] = {
    {"braces, two spaces", "  ", " {", "}", ";", false},
    {"braces, tabs", "\t", " {", "}", "", false},
    {"braces, strings", "    ", " {", "}", ";", true},
    {"colon", "    ", ":", "", "", false},
    {"colon, strings", "    ", ":", "", "", true},
    {"words", "  ", " do", "end", "", false},
};
const char* const kNames[] = {"a", "item", "total", "näme", "value", "x1", "漢字", "data"};

string expression(Random& random, const Style& style, int depth) {
  switch (random.below(depth > 2 ? 3 : 8)) {
    case 0:
    case 1:
      return random.pick(kNames);
    case 2:
      return std::to_string(random.below(100));
    case 3:
      return string(random.pick(kNames)) + "(" + expression(random, style, depth + 1) + ")";
    case 4:
      return string(random.pick(kNames)) + "(" + expression(random, style, depth + 1) + ", " +
             expression(random, style, depth + 1) + ")";
    case 5:
      return string(random.pick(kNames)) + "[" + expression(random, style, depth + 1) + "]";
    case 6:
      if (style.strings) return random.one_in(2) ? "\"it is :) (here\"" : "\"a {b}\"";
      return "[" + expression(random, style, depth + 1) + "]";
    default:
      return expression(random, style, depth + 1) + " + " + expression(random, style, depth + 1);
  }
}

string program(Random& random, const Style& style) {
  string text;
  size_t depth = 0;
  const auto line = [&](const string& content) {
    for (size_t i = 0; i < depth; ++i) text += style.unit;
    text += content + "\n";
  };
  const auto close = [&] {
    --depth;
    if (style.close[0] != '\0') line(style.close);
  };
  bool body_empty = false;
  for (size_t i = 4 + random.below(14); i > 0; --i) {
    const size_t kind = random.below(10);
    if (kind < 2 && depth < 4) {
      line((random.one_in(2) ? "if " : "while ") + expression(random, style, 1) + style.open);
      ++depth;
      body_empty = true;
      continue;
    }
    if (kind == 2 && depth > 0 && !body_empty) {
      close();
      continue;
    }
    if (kind == 3 && !body_empty) {
      text += "\n";
      continue;
    }
    if (kind == 4) {
      line(string(random.pick(kNames)) + " = call(");
      ++depth;
      line(expression(random, style, 1) + ",");
      line(expression(random, style, 1) + ",");
      --depth;
      line(string(")") + style.end);
    } else {
      line(string(random.pick(kNames)) + (random.one_in(3) ? " = " : ".add(") +
           expression(random, style, 0) + "\x01" + style.end);
      // a call needs its bracket
      const size_t mark = text.rfind('\x01');
      const size_t start = text.rfind('\n', mark) + 1;
      const bool call = text.find(".add(", start) < mark;
      text.replace(mark, 1, call ? ")" : "");
    }
    body_empty = false;
  }
  while (depth > 0) {
    if (body_empty) line(string("run()") + style.end);
    body_empty = false;
    close();
  }
  return text;
}

size_t to_boundary(string_view text, size_t at) {
  while (at < text.size() && (text[at] & 0xC0) == 0x80) ++at;
  return at;
}

string soup(Random& random, size_t most) {
  const char* const pieces[] = {
      "(",   ")",  "[",      "]",    "{",    "}",    "))",    "});",  "\"",  "'",     "`",  ",",
      ";",   "\n", "\n    ", "\n\t", "    ", " ",    "\t",    "x",    "foo", "näme",  "漢", "end",
      "}\n", "#",  "//",     "\\",   "\r",   "\r\n", "a = b", "</p>", "=>",  "\"\"\""};
  string text;
  for (size_t i = 1 + random.below(most); i > 0; --i) text += random.pick(pieces);
  return text;
}

string bytes(Random& random) {
  const char* const pieces[] = {"\x1b[0m", "\x00z",  "\xFF",       "\xC3",   "\x80",
                                "\u202E",  "\u2066", "\U000E0041", "\u200B", "\u0085",
                                "\x7F",    "a",      "(",          ")",      "\n",
                                "😀",       "\u2028", "\uFEFF",     "\x08"};
  string text;
  for (size_t i = 1 + random.below(12); i > 0; --i) {
    text +=
        random.one_in(5) ? string(1, static_cast<char>(random.below(256))) : random.pick(pieces);
  }
  return text;
}

bool is_hidden(char32_t c) {
  return (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7F && c < 0xA0) ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) ||
         (c >= 0xE0000 && c <= 0xE007F);
}

bool blank(string_view text) {
  return text.find_first_not_of(" \t\n\r") == string_view::npos;
}

string_view trimmed(string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\n\r") + 1);
}

bool is_subsequence(string_view part, string_view text) {
  size_t next = 0;
  for (const char c : text) next += next < part.size() && part[next] == c;
  return next == part.size();
}

// Dull count: the lowest balance of each kind of bracket anywhere in the text.
std::array<int, 3> lowest(string_view text) {
  std::array<int, 3> balance{}, low{};
  for (const char c : text) {
    const size_t kind = string_view("()[]{}").find(c);
    if (kind == string_view::npos) continue;
    balance[kind / 2] += kind % 2 == 0 ? 1 : -1;
    low[kind / 2] = std::min(low[kind / 2], balance[kind / 2]);
  }
  return low;
}

// No closing bracket without its opener, none that closes another kind.
bool well_nested(string_view text) {
  string open;
  for (const char c : text) {
    const size_t kind = string_view("([{)]}").find(c);
    if (kind == string_view::npos) continue;
    if (kind < 3) {
      open.push_back(string_view(")]}")[kind]);
    } else if (open.empty() || open.back() != c) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return true;
}

struct Made {
  string before, after, raw;
  const Style* style;
  string expected;  // where the raw text is sound: what the document should become
};

Made make_case(Random& random) {
  Made made;
  made.style = &kStyles[random.below(std::size(kStyles))];
  const string text = program(random, *made.style);
  const size_t from = to_boundary(text, random.below(text.size()));
  size_t to = to_boundary(text, from + random.below(std::min<size_t>(text.size() - from, 60) + 1));
  const size_t echo =
      to_boundary(text, to + random.below(std::min<size_t>(text.size() - to, 60) + 1));
  made.before = text.substr(0, from);
  switch (random.below(8)) {
    case 0:
    case 1:  // what stood there, to the end of its line at most
      to = std::min(to, text.find('\n', from));
      made.after = text.substr(to);
      made.raw = text.substr(from, to - from);
      made.expected = text;
      break;
    case 2:  // and what follows it again
      made.after = text.substr(to);
      made.raw = text.substr(from, echo - from);
      break;
    case 3:  // another place of the document
      made.after = text.substr(to);
      made.raw = text.substr(random.below(from + 1), 1 + random.below(80));
      break;
    case 4: {  // spoilt
      made.after = text.substr(to);
      made.raw = text.substr(from, echo - from);
      for (size_t i = 1 + random.below(3); i > 0; --i) {
        const size_t at = random.below(made.raw.size() + 1);
        if (random.one_in(2))
          made.raw.insert(at, soup(random, 2));
        else
          made.raw.erase(at, random.below(4));
      }
      break;
    }
    case 5:
      made.after = text.substr(from);
      made.raw = soup(random, 12);
      break;
    case 6:
      made.after = text.substr(from);
      made.raw = bytes(random);
      break;
    default:  // the editor has closed what the cursor is in
      made.after = string(random.pick(std::array{")", "]", "}", "))", ");", "\"", "\")", "})"})) +
                   text.substr(std::min(text.find('\n', from), text.size()));
      made.raw = random.one_in(2) ? soup(random, 6) : text.substr(from, echo - from);
  }
  return made;
}

struct Tally {
  int sound = 0, shown = 0, exact = 0;
};

void check(const Made& made, const Insertion& insertion, Tally& tally) {
  const string& before = made.before;
  const string& after = made.after;
  const string_view left = string_view(before).substr(before.rfind('\n') + 1);
  const string_view rest = trimmed(string_view(after).substr(0, after.find('\n')));
  ASSERT_EQ(insertion.text.empty(), !insertion.reason.empty());
  ASSERT_LE(insertion.drop_before, left.size());
  ASSERT_LE(insertion.drop_after, rest.size());
  if (!made.expected.empty() && !blank(made.raw)) ++tally.sound;
  if (insertion.text.empty()) return;

  ASSERT_FALSE(blank(insertion.text));
  // Only blanks go on the left; what goes on the right comes again.
  ASSERT_TRUE(blank(left.substr(left.size() - insertion.drop_before)));
  ASSERT_TRUE(is_subsequence(rest.substr(0, insertion.drop_after), insertion.text));
  // Nothing hidden, whole characters.
  ASSERT_TRUE(is_valid_utf8(insertion.text));
  ASSERT_EQ(insertion.text.find('\r'), string::npos);
  for (size_t i = 0; i < insertion.text.size();) {
    const Character character = character_at(insertion.text, i);
    ASSERT_FALSE(is_hidden(character.value)) << std::hex << static_cast<uint32_t>(character.value);
    i += character.bytes;
  }
  const string accepted = before.substr(0, before.size() - insertion.drop_before) + insertion.text +
                          after.substr(insertion.drop_after);
  // No bracket closes that nothing opens, where none did before.
  if (!made.style->strings && made.raw.find_first_of("\"'`#/\\") == string::npos &&
      after.find('"') == string::npos && well_nested(before + after)) {
    const auto was = lowest(before + after), is = lowest(accepted);
    for (size_t kind = 0; kind < 3; ++kind) ASSERT_GE(is[kind], was[kind]) << accepted;
  }
  // The rest of the line and the next line are not doubled.
  if (!rest.empty() && insertion.drop_after == 0 &&
      rest.find_first_of("()[]{}\"'`") == string_view::npos) {
    ASSERT_FALSE(insertion.text.ends_with(rest)) << accepted;
  }
  if (rest.empty()) {
    string_view below = after;
    string_view next;
    while (blank(next) && !below.empty()) {
      below.remove_prefix(std::min(below.find('\n'), below.size() - 1) + 1);
      next = trimmed(below.substr(0, below.find('\n')));
    }
    const string whole =
        string(left.substr(0, left.size() - insertion.drop_before)) + insertion.text;
    const string_view last = string_view(whole).substr(whole.rfind('\n') + 1);
    if (!blank(next) && next.find_first_of("()[]{}") == string_view::npos) {
      ASSERT_NE(last, next) << accepted;
    }
    ASSERT_EQ(insertion.text, trimmed(insertion.text));
  }
  if (!made.expected.empty()) {
    ++tally.shown;
    tally.exact += accepted == made.expected;
  }
}

TEST(InsertionProperties, AnyDocumentAnyCursorAnyText) {
  const uint32_t seed = 20251;
  Random random(seed);
  Tally tally;
  for (int i = 0; i < 120000; ++i) {
    const Made made = make_case(random);
    const Insertion insertion = make_insertion({made.before, made.after}, made.raw);
    check(made, insertion, tally);
    if (testing::Test::HasFatalFailure()) {
      FAIL() << "seed " << seed << " case " << i << " " << made.style->name << "\n"
             << made.before << "^" << made.after << "\nraw: " << testing::PrintToString(made.raw)
             << "\ngave: " << testing::PrintToString(insertion.text) << " -"
             << insertion.drop_before << " -" << insertion.drop_after << " " << insertion.reason;
    }
  }
  // What really stood there is shown, and gives the document back.
  EXPECT_GE(tally.shown * 100, tally.sound * 90) << tally.shown << " of " << tally.sound;
  EXPECT_GE(tally.exact * 100, tally.shown * 95) << tally.exact << " of " << tally.shown;
  RecordProperty("sound", tally.sound);
  RecordProperty("shown", tally.shown);
  RecordProperty("exact", tally.exact);
}

TEST(InsertionProperties, LargeDocumentsAndTexts) {
  string big;
  while (big.size() < 1 << 20) big += "    if (value) { call(first, second); }\n";
  const string wide(1 << 20, 'x'), closers(1 << 20, ')'), openers(1 << 20, '(');
  const auto begin = std::chrono::steady_clock::now();
  int calls = 0;
  for (const string& raw : {string("y();"), big, wide, closers, openers, string(1 << 20, ' '),
                            string(1 << 20, '\n'), string(1 << 20, '"'), string("a\n", 3)}) {
    for (const string& document : {big, wide, closers, openers, string()}) {
      make_insertion({document, document}, raw);
      make_insertion({document + "    call(", ")" + document}, raw);
      calls += 2;
    }
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count() / calls, 40);  // 16 KiB of the text are looked at, 32 of the document
}

}  // namespace
}  // namespace foretoken::lsp

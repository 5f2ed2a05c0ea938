#include "lsp/insertion.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "lsp/text.h"

namespace foretoken::lsp {
namespace {

struct Case {
  int line = 0;
  std::string what;
  bool whole_line = false;
  std::vector<std::string> parts;
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

std::string unescaped(std::string text) {
  replace_all(text, "·", " ");
  replace_all(text, "⇥", "\t");
  for (size_t at = 0; (at = text.find("\\x", at)) != std::string::npos; ++at) {
    text.replace(at, 4, 1, static_cast<char>(std::stoi(text.substr(at + 2, 2), nullptr, 16)));
  }
  return text;
}

std::vector<Case> read_cases() {
  std::ifstream in(std::string(FORETOKEN_TEST_DATA) + "/rules/insertion.txt");
  EXPECT_TRUE(in);
  std::vector<Case> cases;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("=== ")) {
      const bool whole_line = line.ends_with(" | whole line");
      cases.push_back({number, line.substr(4), whole_line, {""}});
    } else if (cases.empty()) {
      continue;
    } else if (line == "---") {
      cases.back().parts.push_back("");
    } else {
      cases.back().parts.back() += line + "\n";
    }
  }
  for (Case& c : cases) {
    std::string& last = c.parts.back();
    if (last.ends_with("\n\n")) last.pop_back();  // a blank line before the next case
    for (std::string& part : c.parts) {
      if (part.ends_with('\n')) part.pop_back();
      part = unescaped(part);
    }
  }
  return cases;
}

// The document after accepting, with ^ where the new text ends; "nothing: reason".
std::string accepted(const std::string& document, const std::string& raw, bool whole_line = false) {
  const size_t cursor = document.find('^');
  const std::string before = document.substr(0, cursor), after = document.substr(cursor + 1);
  const Insertion insertion = make_insertion({before, after, whole_line}, raw);
  if (insertion.text.empty()) return "nothing: " + insertion.reason;
  return before.substr(0, before.size() - insertion.drop_before) + insertion.text + "^" +
         after.substr(insertion.drop_after);
}

void check_insertion(const std::string& document, const std::string& raw, const std::string& result) {
  EXPECT_EQ(accepted(document, raw), result) << document << " + " << raw;
}

TEST(Insertion, Cases) {
  const auto cases = read_cases();
  EXPECT_GE(cases.size(), 80u);
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << "insertion.txt:" << c.line << " " << c.what);
    ASSERT_EQ(c.parts.size(), 3u);
    EXPECT_EQ(accepted(c.parts[0], c.parts[1], c.whole_line), c.parts[2]);
  }
}

TEST(Insertion, Brackets) {
  check_insertion("foo(bar(^))", "g(x)", "foo(bar(g(x)^))");
  check_insertion("a[^]", "i]", "a[i^]");
  check_insertion("a[^]", "i] + 1", "a[i] + 1^");
  check_insertion("f(a[^])", "i], b)", "f(a[i], b)^");
  check_insertion("f(a[^])", "b[i]", "f(a[b[i]^])");
  check_insertion("f(^)", ")", "nothing: already present");
  check_insertion("f(^)", "(", "f(()^)");
  check_insertion("((^))", "))", "nothing: already present");
  check_insertion("x^", "}])", "nothing: already present");
}

}  // namespace
}  // namespace foretoken::lsp

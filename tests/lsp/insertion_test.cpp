#include "lsp/insertion.h"

#include <gmock/gmock.h>

#include "tests/support/rule_cases.h"

namespace foretoken::lsp {
namespace {

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

// The document after accepting, with ^ where the new text ends; "nothing: reason".
std::string accepted(const std::string& document, const std::string& raw, bool whole_line = false) {
  const auto [before, after] = test::at_cursor(document);
  const Insertion insertion = make_insertion({before, after, whole_line}, raw);
  if (insertion.text.empty()) return "nothing: " + insertion.reason;
  return before.substr(0, before.size() - insertion.drop_before) + insertion.text + "^" +
         after.substr(insertion.drop_after);
}

void check_insertion(const std::string& document, const std::string& raw,
                     const std::string& result) {
  EXPECT_EQ(accepted(document, raw), result) << document << " + " << raw;
}

TEST(Insertion, Cases) {
  const auto cases = test::read_rule_cases("insertion.txt");
  EXPECT_GE(cases.size(), 80u);
  for (const auto& c : cases) {
    SCOPED_TRACE(c.where);
    ASSERT_EQ(c.parts.size(), 3u);
    const bool whole_line = !c.fields.empty();
    EXPECT_EQ(accepted(unescaped(c.parts[0]), unescaped(c.parts[1]), whole_line),
              unescaped(c.parts[2]));
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

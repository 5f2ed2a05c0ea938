// Cases of rules as text files: "=== what | field | …", then texts between "---" lines. What comes
// before the first case is for the reader, and so is a blank line between two cases.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace foretoken::test {

struct RuleCase {
  std::string where;                // file:line what
  std::vector<std::string> fields;  // behind the first '|'
  std::vector<std::string> parts;   // without their last line break
};

inline std::vector<RuleCase> read_rule_cases(const std::string& file) {
  std::ifstream in(std::string(FORETOKEN_TEST_DATA) + "/rules/" + file);
  EXPECT_TRUE(in) << file;
  std::vector<RuleCase> cases;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("=== ")) {
      RuleCase next{file + ":" + std::to_string(number) + " ", {}, {""}};
      std::stringstream fields(line.substr(4));
      std::getline(fields, line, '|');
      next.where += line;
      for (std::string field; std::getline(fields, field, '|');) {
        const size_t first = field.find_first_not_of(' ');
        next.fields.push_back(field.substr(first, field.find_last_not_of(' ') + 1 - first));
      }
      cases.push_back(next);
    } else if (cases.empty()) {
      continue;
    } else if (line == "---") {
      cases.back().parts.push_back("");
    } else {
      cases.back().parts.back() += line + "\n";
    }
  }
  for (RuleCase& c : cases) {
    std::string& last = c.parts.back();
    if (last.ends_with("\n\n")) last.pop_back();
    for (std::string& part : c.parts) {
      if (part.ends_with('\n')) part.pop_back();
    }
  }
  return cases;
}

/// The document's text left and right of its '^'.
inline std::pair<std::string, std::string> at_cursor(const std::string& document) {
  const size_t cursor = document.find('^');
  EXPECT_NE(cursor, std::string::npos) << document;
  if (cursor == std::string::npos) return {document, ""};
  return {document.substr(0, cursor), document.substr(cursor + 1)};
}

}  // namespace foretoken::test

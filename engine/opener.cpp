#include "engine/opener.h"

#include <algorithm>
#include <array>

namespace foretoken::engine {
namespace {

using std::string_view;

template <size_t n>
bool is_one_of(string_view word, const std::array<string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

string_view first_word(string_view line) {
  line = trim(line);
  size_t end = 0;
  while (end < line.size() && is_word(line[end])) ++end;
  return line.substr(0, end);
}

string_view last_word(string_view line) {
  size_t start = line.size();
  while (start > 0 && is_word(line[start - 1])) --start;
  return line.substr(start);
}

bool has_word(string_view line, string_view word) {
  for (size_t at = line.find(word); at != string_view::npos; at = line.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(line[at - 1])) && (end == line.size() || !is_word(line[end])))
      return true;
  }
  return false;
}

// `do |x, y|`
bool ends_in_block_parameters(string_view code) {
  if (code.size() < 4 || code.back() != '|') return false;
  const size_t bar = code.rfind('|', code.size() - 2);
  if (bar == string_view::npos) return false;
  const string_view head = trim_right(code.substr(0, bar));
  return last_word(head) == "do" || head.ends_with('{');
}

constexpr std::array<string_view, 13> kWordStarts = {
    "def", "class", "module", "if",       "unless", "while", "until",
    "for", "case",  "begin",  "function", "else",   "elsif"};
constexpr std::array<string_view, 8> kWordEnds = {"do",  "then",   "begin",  "else",
                                                  "try", "ensure", "rescue", "finally"};
constexpr std::array<string_view, 14> kVoidTags = {"area",  "base",   "br",    "col",  "embed",
                                                   "hr",    "img",    "input", "link", "meta",
                                                   "param", "source", "track", "wbr"};

// <ul class="x"> alone in its line, or at the end of it: the name of the element it opens.
string_view opened_tag(string_view code) {
  if (!code.ends_with('>') || code.ends_with("/>") || code.ends_with("->") ||
      code.ends_with("=>")) {
    return {};
  }
  const size_t start = code.rfind('<');
  if (start == string_view::npos || trim(code.substr(0, start)).ends_with('=')) return {};
  if (!trim(code).starts_with('<')) return {};
  size_t end = start + 1;
  while (end < code.size() && (is_word(code[end]) || code[end] == '-')) ++end;
  const string_view tag = code.substr(start + 1, end - start - 1);
  return tag.empty() || is_one_of(tag, kVoidTags) ? string_view() : tag;
}

bool colon_opens(string_view code, bool inside_brackets) {
  if (inside_brackets || code.ends_with("::")) return false;
  const string_view first = first_word(code);
  return first != "const" && first != "let" && first != "var" &&
         code.find('?') == string_view::npos;
}

bool word_opens(string_view code, const Lexical& lexical) {
  if (!lexical.hash_comments && trim(code).starts_with('#')) return false;  // a preprocessor's else
  const string_view last = last_word(code);
  if (is_one_of(last, kWordEnds) && !has_word(code, "end")) return true;
  if (last == "in" && first_word(code) == "case") return true;  // shell
  if (ends_in_block_parameters(code)) return true;
  return lexical.end_words && !has_word(code, "end") && !code.ends_with(';') &&
         !code.ends_with(',') && !code.ends_with('=') && is_one_of(first_word(code), kWordStarts);
}

}  // namespace

Surroundings::Surroundings(string_view before, string_view after) {
  left = before.substr(before.rfind('\n') + 1);
  const size_t end = after.find('\n');
  rest = trim_right(after.substr(0, end));
  below = end == string_view::npos ? string_view() : after.substr(end + 1);
  left_blank = is_blank(left);
  rest_blank = rest.empty();
  for (string_view text = below; !text.empty();) {
    const size_t line_end = text.find('\n');
    next_line = trim_right(text.substr(0, line_end));
    has_next = !next_line.empty();
    if (has_next || line_end == string_view::npos) break;
    text.remove_prefix(line_end + 1);
  }
}

Opener find_opener(string_view scanned, const Surroundings& around, const Lexical& lexical) {
  Opener opener;
  string_view text = scanned;
  if (around.left_blank) {  // the line directly above
    text.remove_suffix(around.left.size());
    if (text.empty()) return opener;
    text.remove_suffix(1);
  }
  const size_t line = text.rfind('\n') + 1;
  if (is_blank(text.substr(line))) return opener;
  CodeScanner scanner(lexical);
  scanner.push(text);
  if (scanner.in_string() || scanner.spans_lines() || scanner.last_code() == 0) return opener;
  const string_view code = text.substr(line, scanner.last_code_at() + 1 - line);
  const char last = scanner.last_code();
  opener.indent = scanner.statement_indent();
  if (last == '{' || last == '(' || last == '[') {
    opener.kind = Opener::Kind::bracket;
    opener.bracket = last;
    opener.bracket_at = scanner.last_code_at();
    opener.indent = scanner.open().back().indent;
  } else if (last == ':') {
    const bool inside = !scanner.open().empty() && scanner.open().back().at >= line;
    if (colon_opens(code, inside)) opener.kind = Opener::Kind::colon;
  } else if (code.ends_with("=>")) {
    opener.kind = Opener::Kind::colon;
  } else if (const string_view tag = opened_tag(code); !tag.empty()) {
    opener.kind = Opener::Kind::tag;
    opener.tag = tag;
  } else if (word_opens(code, lexical)) {
    opener.kind = Opener::Kind::word;
  }
  return opener;
}

bool is_end_word_line(string_view line) {
  constexpr std::array<string_view, 9> words = {
      "end", "fi", "done", "esac", "endif", "endwhile", "endfor", "endforeach", "endfunction"};
  return is_one_of(first_word(line), words);
}

std::vector<bool> closed_in(CodeScanner scanner, string_view after) {
  const size_t count = scanner.open().size();
  const size_t cursor = scanner.fed();
  std::vector<bool> closed(count, false);
  size_t left = count;
  scanner.distrust_column();
  for (const char c : after) {
    if (left == 0) break;
    if (scanner.push(c) != CodeScanner::Event::closed || scanner.closed().at >= cursor) continue;
    const size_t index = scanner.open().size();  // the place it had; what it passed over stays open
    closed[index] = true;
    left = index;
  }
  return closed;
}

}  // namespace foretoken::engine

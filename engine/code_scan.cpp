#include "engine/code_scan.h"

#include <algorithm>

namespace foretoken::engine {
namespace {

char opener_of(char closer) {
  return closer == ')' ? '(' : closer == ']' ? '[' : '{';
}

}  // namespace

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\n\r") == std::string_view::npos;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view trim_right(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\n\r") + 1);
}

std::string_view trim(std::string_view text) {
  text = trim_right(text);
  return text.substr(std::min(text.find_first_not_of(" \t\n\r"), text.size()));
}

size_t indent_columns(std::string_view text) {
  size_t columns = 0;
  for (const char c : text) {
    if (!is_blank(c)) break;
    columns = c == '\t' ? (columns / 4 + 1) * 4 : columns + 1;
  }
  return columns;
}

std::string_view scan_window(std::string_view before, size_t size, const Lexical& lexical) {
  if (before.size() <= size) return before;
  before.remove_prefix(before.size() - size);
  const size_t line = before.find('\n');
  if (line == std::string_view::npos) {  // one long line: at least whole characters
    size_t start = 0;
    while (start < 3 && start < before.size() && (before[start] & 0xC0) == 0x80) ++start;
    return before.substr(start);
  }
  before.remove_prefix(line + 1);
  if (!lexical.hash_comments) return before;
  // The window may begin inside a documentation string. A line that defines something is code.
  for (size_t start = 0; start < before.size() / 2;) {
    const size_t end = std::min(before.find('\n', start), before.size());
    const std::string_view code = trim(before.substr(start, end - start));
    if (code.starts_with("def ") || code.starts_with("class ") || code.starts_with("async def ")) {
      return before.substr(start);
    }
    start = end + 1;
  }
  return before;
}

CodeScanner::Event CodeScanner::push(char c) {
  ++fed_;
  Event event = Event::none;
  if (c == '\n') {
    end_line();
  } else {
    if (line_start_ && is_blank(c)) {
      columns_ = c == '\t' ? (columns_ / 4 + 1) * 4 : columns_ + 1;
    } else if (line_start_) {
      statement_indent_ = columns_;
    }
    if (state_ == State::code) {
      event = push_code(c);
    } else if (state_ == State::string) {
      event = push_string(c);
    } else if (state_ == State::block_comment && c == '/' && previous_[0] == '*') {
      state_ = State::code;
      c = ' ';  // no part of what follows
    }
    line_start_ = line_start_ && is_blank(c);
  }
  previous_[2] = previous_[1];
  previous_[1] = previous_[0];
  previous_[0] = c;
  return event;
}

void CodeScanner::end_line() {
  if (state_ == State::line_comment || (state_ == State::string && !multiline_)) {
    state_ = State::code;
  }
  escaped_ = false;
  quote_run_ = 0;
  line_start_ = true;
  columns_ = 0;
  last_code_ = 0;
  before_slash_ = 0;
}

CodeScanner::Event CodeScanner::push_code(char c) {
  const char previous = previous_[0];
  if (previous == '/' && lexical_.slash_comments) {
    if (c == '/' || c == '*') {
      state_ = c == '/' ? State::line_comment : State::block_comment;
      previous_[0] = ' ';  // "/*/" does not end
      last_code_ = before_slash_;
      last_code_at_ = before_slash_at_;
      return Event::none;
    }
    if (regex_may_begin()) {
      before_slash_ = 0;
      open_string('/', false, false);
      return push_string(c);
    }
  }
  if (c == '#' && lexical_.hash_comments &&
      std::string_view(" \t\n)];:,").find(previous) != std::string_view::npos) {
    state_ = State::line_comment;
    return Event::none;
  }
  if (is_blank(c)) return Event::none;
  if (c == '/') {
    before_slash_ = last_code_;
    before_slash_at_ = last_code_at_;
  }
  last_code_ = c;
  last_code_at_ = fed_ - 1;
  if (lexical_.lifetimes && previous == '\'' && previous_[1] != '\'' &&
      std::string_view("([{}])\"\\/#").find(c) != std::string_view::npos) {
    open_string('\'', false, false);
    escaped_ = c == '\\';
    return Event::none;
  }
  switch (c) {
    case '(':
    case '[':
    case '{':
      open_.push_back({c, fed_ - 1, statement_indent_});
      return Event::opened;
    case ')':
    case ']':
    case '}':
      return close_bracket(c);
    case '"':
    case '\'':
    case '`': {
      const bool triple = empty_string_end_ != 0 && empty_string_end_ + 1 == fed_ && quote_ == c &&
                          (c == '"' || (c == '\'' && lexical_.hash_comments));
      if (triple) return open_string(c, true, true);
      if (!quote_begins_string(c)) return Event::none;
      return open_string(c, c == '`' && lexical_.slash_comments, false);
    }
    default:
      return Event::none;
  }
}

CodeScanner::Event CodeScanner::open_string(char c, bool multiline, bool triple) {
  state_ = State::string;
  quote_ = c;
  quote_at_ = fed_ - (triple ? 3 : 1);
  multiline_ = multiline;
  triple_ = triple;
  escaped_ = false;
  quote_run_ = 0;
  return Event::quoted;
}

bool CodeScanner::quote_begins_string(char c) const {
  const char previous = previous_[0];
  if (previous == '\\') return false;
  if (c != '\'') return true;
  if (lexical_.lifetimes) return false;  // decided at the next byte
  if (!is_word(previous)) return true;
  // don't, 1'000'000; but u'x', rb'x'
  const auto prefix = [](char p) {
    return std::string_view("rRbBfFuUL").find(p) != std::string_view::npos;
  };
  return prefix(previous) &&
         (!is_word(previous_[1]) || (prefix(previous_[1]) && !is_word(previous_[2])));
}

bool CodeScanner::regex_may_begin() const {
  return !lexical_.lifetimes && before_slash_ != 0 &&
         std::string_view("(,=:[!&|?").find(before_slash_) != std::string_view::npos;
}

CodeScanner::Event CodeScanner::push_string(char c) {
  if (escaped_) {
    escaped_ = false;
    return Event::none;
  }
  if (c == '\\') {
    escaped_ = true;
    quote_run_ = 0;
    return Event::none;
  }
  if (c != quote_) {
    quote_run_ = 0;
    return Event::none;
  }
  if (triple_ && ++quote_run_ < 3) return Event::none;
  state_ = State::code;
  last_code_ = c;
  last_code_at_ = fed_ - 1;
  empty_string_end_ = !triple_ && quote_at_ + 2 == fed_ ? fed_ : 0;
  return Event::unquoted;
}

CodeScanner::Event CodeScanner::close_bracket(char c) {
  const char kind = opener_of(c);
  // The nearest opener of its kind; a brace passes over what is open inside it, the others stop at
  // a brace.
  size_t found = open_.size();
  for (size_t i = open_.size(); i-- > 0;) {
    if (open_[i].kind == kind) {
      found = i;
      break;
    }
    if (open_[i].kind == '{') return Event::stray;
  }
  if (found == open_.size()) return Event::stray;
  // At the start of a line, indentation tells which of several is meant.
  if (line_start_ && open_[found].indent > columns_) {
    for (size_t i = found; i-- > 0;) {
      if (open_[i].kind == kind && open_[i].indent <= columns_) {
        if (open_[i].indent == columns_) found = i;
        break;
      }
    }
  }
  closed_ = open_[found];
  open_.resize(found);
  statement_indent_ = std::min(statement_indent_, closed_.indent);
  return Event::closed;
}

Lexical guess_lexical(std::string_view before, std::string_view after) {
  constexpr size_t kWindow = 16 * 1024;
  if (before.size() > kWindow) before.remove_prefix(before.size() - kWindow);
  after = after.substr(0, kWindow);
  size_t slash = 0, hash = 0, ends = 0, rust = 0;
  for (std::string_view text : {before, after}) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      const std::string_view line = trim(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (line.empty()) continue;
      const char last = line.back();
      if (line.starts_with("//") || line.starts_with("/*")) slash += 3;
      if (last == ';' || last == '{' || line.starts_with("}")) ++slash;
      if (line.starts_with("# ") || line.starts_with("#!") || line == "#") hash += 3;
      if (line.find(" // ") != std::string_view::npos) ++slash;
      if (line.find(" # ") != std::string_view::npos) ++hash;
      if (last == ':') ++hash;
      if (line.starts_with("def ") || line.starts_with("import ") || line.starts_with("from ")) {
        hash += last != ';' && last != '{' && last != '(';
      }
      if (line == "end" || line == "fi" || line == "done" || line == "esac" || line == "then") {
        ++ends;
        hash += 2;
      }
      if (line.starts_with("fn ") || line.starts_with("pub ") || line.starts_with("impl") ||
          line.starts_with("let mut ") || line.starts_with("#[") || line.starts_with("use ")) {
        ++rust;
      }
    }
  }
  Lexical lexical;
  lexical.hash_comments = hash > slash;
  lexical.slash_comments = !lexical.hash_comments;
  lexical.end_words = ends > 0;
  lexical.lifetimes = rust > 0 && lexical.slash_comments;
  return lexical;
}

}  // namespace foretoken::engine

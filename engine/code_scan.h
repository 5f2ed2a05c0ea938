// Brackets, strings and comments in source text, one byte at a time, without a grammar. It is a
// reader of half-written code: a string ends with its line where its kind cannot span lines, a
// closing bracket passes over openers that indentation shows to be unclosed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace foretoken::engine {

/// What the rules assume about a language. Plain data; guessed from text where nobody knows better.
struct Lexical {
  bool slash_comments = true;  // "//", "/* */", multi-line backtick strings, /regular expressions/
  bool hash_comments = false;  // '#', and ''' strings
  bool lifetimes = false;      // Rust: ' opens a character only where it cannot be a lifetime
  bool end_words = false;      // blocks end in a word (end, fi, done, esac)
};
Lexical guess_lexical(std::string_view before, std::string_view after);

/// Columns of the blanks `text` begins with; a tab goes to the next multiple of four.
size_t indent_columns(std::string_view text);

/// The end of `before`, some `size` bytes of it, from the start of a line that a scan may begin
/// with.
std::string_view scan_window(std::string_view before, size_t size, const Lexical& lexical);

inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_blank(std::string_view text);  // no byte but blanks and line breaks
/// Letters, digits, '_', '$' and every byte of a non-ASCII character.
bool is_word(char c);
std::string_view trim_right(std::string_view text);  // blanks and line breaks
std::string_view trim(std::string_view text);

struct OpenBracket {
  char kind;      // ( [ {
  size_t at;      // its place in the bytes fed
  size_t indent;  // columns of the line its statement begins on
};

/// A value. Not tied to a thread.
class CodeScanner {
 public:
  explicit CodeScanner(const Lexical& lexical) : lexical_(lexical) {}

  enum class Event : uint8_t {
    none,
    opened,    // open().back() is new
    closed,    // closed() is gone
    stray,     // a closing bracket that nothing opens
    quoted,    // a string begins, at quote_at()
    unquoted,  // a string that began at quote_at() ends with this byte
  };
  Event push(char c);
  void push(std::string_view text) {
    for (const char c : text) push(c);
  }

  /// What follows in this line stands where an edit is under way: its column tells nothing.
  void distrust_column() { line_start_ = false; }

  size_t fed() const { return fed_; }
  const std::vector<OpenBracket>& open() const { return open_; }
  const OpenBracket& closed() const { return closed_; }
  bool in_string() const { return state_ == State::string; }
  bool in_comment() const { return state_ >= State::line_comment; }
  /// In a string or comment that goes on in the next line.
  bool spans_lines() const { return (in_string() && multiline_) || state_ == State::block_comment; }
  char quote() const { return quote_; }
  size_t quote_at() const { return quote_at_; }
  bool triple() const { return triple_; }
  /// Columns of the line on which the statement of the current line begins.
  size_t statement_indent() const { return statement_indent_; }
  /// Last byte of code in the current line (blanks and comments left out), 0 where there is none,
  /// and where it is.
  char last_code() const { return last_code_; }
  size_t last_code_at() const { return last_code_at_; }

 private:
  enum class State : uint8_t { code, string, line_comment, block_comment };
  Event push_code(char c);
  Event push_string(char c);
  Event close_bracket(char c);
  Event open_string(char c, bool multiline, bool triple);
  void end_line();
  bool quote_begins_string(char c) const;
  bool regex_may_begin() const;

  Lexical lexical_;
  State state_ = State::code;
  std::vector<OpenBracket> open_;
  OpenBracket closed_{};
  size_t fed_ = 0;
  size_t quote_at_ = 0, empty_string_end_ = 0;
  size_t columns_ = 0, statement_indent_ = 0;
  size_t last_code_at_ = 0, before_slash_at_ = 0;
  char quote_ = 0, last_code_ = 0, before_slash_ = 0;
  char previous_[3] = {'\n', '\n', '\n'};  // the latest first
  uint8_t quote_run_ = 0;
  bool line_start_ = true, multiline_ = false, triple_ = false, escaped_ = false;
};

}  // namespace foretoken::engine

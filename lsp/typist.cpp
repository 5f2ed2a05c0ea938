#include "lsp/typist.h"

#include <algorithm>

#include "lsp/text.h"

namespace foretoken::lsp {
namespace {

constexpr std::string_view kOpeners = "([{", kClosers = ")]}", kQuotes = "\"'`";

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }
bool contains(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

char closer_for(char opener) {
  const size_t bracket = kOpeners.find(opener);
  return bracket == std::string_view::npos ? opener : kClosers[bracket];
}

/// One level as this file writes it: a tab, or the least run of blanks that a line begins with.
std::string indentation_unit(std::string_view text) {
  size_t least = 0;
  for (size_t line = 0; line < text.size();) {
    if (text[line] == '\t') return "\t";
    const size_t content = std::min(text.find_first_not_of(' ', line), text.size());
    const size_t blanks = content - line;
    if (blanks >= 2 && (least == 0 || blanks < least)) least = blanks;
    const size_t end = text.find('\n', content);
    line = end == std::string_view::npos ? text.size() : end + 1;
  }
  return std::string(least == 0 ? 4 : std::min<size_t>(least, 8), ' ');
}

}  // namespace

Typist::Typist(const TypedRegion& region)
    : region_(region), unit_(indentation_unit(region.text)), at_(region.begin) {
  find_pairs();
}

/// Brackets with their closers and quotes with their ends, properly nested, by a scan that knows no
/// language: it only has to be right often. A quote ends in its line.
void Typist::find_pairs() {
  closer_of_.assign(region_.end - region_.begin, 0);
  std::vector<size_t> open;
  size_t quote = std::string::npos;
  for (size_t i = region_.begin; i < region_.end; ++i) {
    const char c = file()[i];
    if (quote != std::string::npos) {
      if (c == '\\') ++i;
      if (c == '\n') quote = std::string::npos;
      if (quote != std::string::npos && c == file()[quote]) {
        closer_of_[quote - region_.begin] = i;
        quote = std::string::npos;
      }
    } else if (contains(kQuotes, c)) {
      const char before = i > region_.begin ? file()[i - 1] : '\n';
      if (!is_word(before) && !contains(kQuotes, before)) quote = i;
    } else if (contains(kOpeners, c)) {
      open.push_back(i);
    } else if (contains(kClosers, c) && !open.empty() && closer_for(file()[open.back()]) == c) {
      closer_of_[open.back() - region_.begin] = i;
      open.pop_back();
    }
  }
}

std::string Typist::text_at_outset() const {
  return region_.text.substr(0, region_.begin) + region_.text.substr(region_.end);
}

size_t Typist::line_end_bytes(size_t at) const {
  if (file().substr(at).starts_with("\r\n")) return 2;
  return at < file().size() && file()[at] == '\n' ? 1 : 0;
}

size_t Typist::line_end(size_t at) const {
  while (at < region_.end && line_end_bytes(at) == 0) ++at;
  return at;
}

size_t Typist::line_start(size_t at) const {
  while (at > 0 && file()[at - 1] != '\n') --at;
  return at;
}

std::string_view Typist::indentation(size_t line) const {
  size_t end = line;
  while (end < region_.end && is_blank(file()[end])) ++end;
  return file().substr(line, end - line);
}

bool Typist::closes_here() const { return !closers_.empty() && closers_.back().at == at_; }

bool Typist::after_letter() const {
  return extra_.empty() && at_ > region_.begin && is_letter(file()[at_ - 1]);
}

size_t Typist::typed_in_line() const {
  const size_t line = line_start(at_);
  const size_t content = line + indentation(line).size();
  return at_ > content ? at_ - content : 0;
}

bool Typist::can_accept() const {
  return extra_.empty() && !closes_here() && line_end(at_) > at_ && line_end(at_) <= region_.end;
}

/// Replaces what stands on either side of the cursor; the cursor comes to stand behind `left`.
Key Typist::edit(KeyKind kind, size_t erased_left, size_t erased_right, std::string left,
                 std::string right) {
  Key key;
  key.kind = kind;
  key.start = cursor() - erased_left;
  key.erased = erased_left + erased_right;
  key.cursor = key.start + left.size();
  key.inserted = std::move(left) + std::move(right);
  return key;
}

Key Typist::next() {
  if (extra_.empty() && closes_here()) {  // no edit: the cursor steps over it
    Key key = edit(KeyKind::typed_over, 0, 0, "", "");
    key.cursor += closers_.back().text.size();
    at_ += closers_.back().text.size();
    closers_.pop_back();
    return key;
  }
  const size_t line_end = line_end_bytes(at_);
  const bool only_indented = extra_.find_first_not_of(" \t") == std::string::npos;
  if (line_end > 0 && at_ < region_.end && only_indented && !closes_here()) return line_break();
  if (!extra_.empty()) return take_back();

  const char c = file()[at_];
  const size_t closer = closer_of_[at_ - region_.begin];
  // Editors close where a blank, a closer or nothing follows.
  const char after = !closers_.empty() ? closers_.back().text.front()
                     : region_.end < file().size() ? file()[region_.end] : '\n';
  const bool room = is_blank(after) || after == '\n' || after == '\r' || contains(kClosers, after);
  // Where the opener ends its line, the closer goes to a line of its own: it has to be first there.
  const bool broken = closer > 0 && line_end_bytes(at_ + 1) > 0;
  const size_t line = closer > 0 ? line_start(closer) : 0;
  const bool first_there = closer > 0 && line + indentation(line).size() == closer &&
                           indentation(line) == indentation(line_start(at_));
  if (closer > 0 && room && (!broken || (first_there && line > at_ + 3))) {
    Key key = edit(KeyKind::auto_closed, 0, 0, std::string(1, c), std::string(1, closer_for(c)));
    closers_.push_back({closer, std::string(1, closer_for(c))});
    ++at_;
    return key;
  }
  size_t bytes = character_at(file(), at_).bytes;
  if (is_blank(c) && typed_in_line() == 0) {  // the Tab key
    bytes = std::min(indentation(line_start(at_)).size() - (at_ - line_start(at_)), unit_.size());
  }
  Key key = edit(KeyKind::character, 0, 0, std::string(file().substr(at_, bytes)), "");
  at_ += bytes;
  return key;
}

Key Typist::line_break() {
  const size_t bytes = line_end_bytes(at_);
  const std::string newline(file().substr(at_, bytes));
  const size_t line = line_start(at_);
  const std::string here(indentation(line));
  const bool empty_line = line + here.size() >= at_;
  std::string indent = empty_line && here.empty() ? last_indent_ : here;
  const char last = empty_line ? '\n' : file()[at_ - 1];
  const bool opens = contains(kOpeners, last) || last == ':';
  if (opens) indent += unit_;
  last_indent_ = indent;

  std::string below;  // the closer's own line
  const bool between = contains(kOpeners, last) && !closers_.empty() &&
                       closer_of_[at_ - 1 - region_.begin] == closers_.back().at && at_ > region_.begin;
  if (between) {
    Closer& closer = closers_.back();
    const size_t own_line = line_start(closer.at);
    size_t before = own_line - 1;  // its line end
    if (before > 0 && file()[before - 1] == '\r') --before;
    below = std::string(file().substr(before, closer.at - before));
    closer.text = below + closer.text;
    closer.at = before;
  }
  Key key = edit(KeyKind::line_break, extra_.size(), 0, newline + indent, below);
  at_ += bytes;
  extra_.clear();
  // As much of the editor's indentation as the file has there is right; the rest is taken back.
  const std::string_view wanted = indentation(at_);
  const size_t same = size_t(std::mismatch(indent.begin(), indent.end(), wanted.begin(), wanted.end()).first -
                             indent.begin());
  extra_ = indent.substr(same);
  at_ += same;
  return key;
}

Key Typist::take_back() {
  size_t bytes = 1;
  if (is_blank(extra_.back())) {  // one level
    const size_t blanks = extra_.size() - (extra_.find_last_not_of(" \t") + 1);
    const size_t over = blanks % unit_.size();
    bytes = over > 0 ? over : std::min(blanks, unit_.size());
  }
  Key key = edit(KeyKind::backspace, bytes, 0, "", "");
  extra_.resize(extra_.size() - bytes);
  return key;
}

Key Typist::wrong_letter() {
  Key key = edit(KeyKind::character, 0, 0, "q", "");
  extra_ += 'q';
  return key;
}

Key Typist::accept() {
  const size_t end = line_end(at_);
  size_t covered = 0;  // closers that the accepted text brings with it
  while (!closers_.empty() && closers_.back().at < end) {
    covered += closers_.back().text.size();
    closers_.pop_back();
  }
  Key key = edit(KeyKind::accept, 0, covered, std::string(file().substr(at_, end - at_)), "");
  at_ = end;
  return key;
}

}  // namespace foretoken::lsp

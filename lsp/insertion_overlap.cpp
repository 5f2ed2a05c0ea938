// What stands right of the cursor does not come again, and brackets and quotes stay balanced.
#include <algorithm>

#include "lsp/insertion_rules.h"

namespace foretoken::lsp::rules {
namespace {

using engine::CodeScanner;
using engine::is_blank;
using engine::is_word;
using engine::trim_right;
using std::string_view;
using Event = CodeScanner::Event;
using Fate = OuterCloser::Fate;

constexpr size_t npos = string_view::npos;

struct Line {
  size_t start, end;  // in the text, without the line break
};

std::vector<Line> lines_of(string_view text) {
  std::vector<Line> lines;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back({start, end});
    start = end + 1;
  }
  return lines;
}

// The first `most` lines below the cursor's that are not blank, without blanks at their ends.
std::vector<string_view> lines_below(const Place& place, size_t most) {
  std::vector<string_view> lines;
  string_view below = place.around.below;
  while (!below.empty() && lines.size() < most) {
    const size_t end = std::min(below.find('\n'), below.size());
    const string_view line = trim_right(below.substr(0, end));
    if (!line.empty()) lines.push_back(line);
    below.remove_prefix(std::min(end + 1, below.size()));
  }
  return lines;
}

bool has_word(string_view line) { return std::any_of(line.begin(), line.end(), is_word); }

// Brackets and quotes that a scan of `text` closes but has not opened, at the place.
std::vector<OuterCloser> outer_closers(const Place& place, string_view text) {
  std::vector<OuterCloser> outer;
  CodeScanner scanner = place.scanner;
  const size_t cursor = scanner.fed();
  for (size_t i = 0; i < text.size(); ++i) {
    const Event event = scanner.push(text[i]);
    if (event == Event::stray) {
      outer.push_back({i, text[i], Fate::stray});
    } else if (event == Event::closed && scanner.closed().at < cursor) {
      const size_t index = scanner.open().size();
      const Fate fate = place.closed_in_rest[index]    ? Fate::in_rest
                        : place.closed_in_after[index] ? Fate::below
                                                       : Fate::free;
      outer.push_back({i, text[i], fate});
    } else if (event == Event::unquoted && scanner.quote_at() < cursor) {
      outer.push_back({i, text[i], place.quote_closed_in_rest ? Fate::in_rest : Fate::free});
    }
  }
  return outer;
}

// Cut before `at`; a line of which nothing else is left goes too.
void cut_at(size_t at, Draft& draft) {
  const size_t line = draft.text.rfind('\n', at == 0 ? 0 : at - 1);
  const bool alone = at > 0 && line != npos && line < at &&
                     is_blank(string_view(draft.text).substr(line, at - line));
  draft.text.resize(alone ? line : at);
}

string_view rest_left(const Place& place, const Draft& draft) {
  return place.around.rest.substr(std::min(draft.drop_after, place.around.rest.size()));
}

// Lengths of the ends of `text` that are beginnings of `rest`, longest first (Knuth, Morris, Pratt).
std::vector<size_t> overlaps(string_view text, string_view rest) {
  rest = rest.substr(0, text.size());
  std::vector<size_t> fail(rest.size(), 0);
  for (size_t i = 1, k = 0; i < rest.size(); ++i) {
    while (k > 0 && rest[i] != rest[k]) k = fail[k - 1];
    if (rest[i] == rest[k]) ++k;
    fail[i] = k;
  }
  size_t k = 0;
  for (const char c : text.substr(text.size() - rest.size())) {
    while (k > 0 && (k == rest.size() || c != rest[k])) k = fail[k - 1];
    if (k < rest.size() && c == rest[k]) ++k;
  }
  std::vector<size_t> lengths;
  for (; k > 0; k = fail[k - 1]) lengths.push_back(k);
  return lengths;
}

// The text ends in what the rest of the line begins with: that part goes.
bool cut_overlap(const Place& place, const Marks& marks, Draft& draft) {
  const string_view rest = place.around.rest;
  const string_view text = trim_right(draft.text);
  for (const size_t length : overlaps(text, rest)) {
    const size_t at = text.size() - length;
    const bool whole_characters = length == rest.size() || (rest[length] & 0xC0) != 0x80;
    // The beginning of a word says little: all of it that the text ends in, and three letters.
    const bool inside_word =
        length < rest.size() && is_word(rest[length - 1]) && is_word(rest[length]);
    if (inside_word && (length < 3 || (at > 0 && is_word(text[at - 1])))) continue;
    if (!whole_characters || !marks.may_cut(at) || marks.first_surplus() < at) continue;
    draft.text.resize(at);
    return true;
  }
  return false;
}

// The text holds the rest of the line as it stands and goes on behind it.
bool cover_exact(const Place& place, const Marks& marks, Draft& draft) {
  const string_view rest = place.around.rest, text = draft.text;
  const auto closers = outer_closers(place, rest);
  const auto same_closers = [&](size_t at) {
    std::vector<OuterCloser> inside;
    for (const OuterCloser& closer : marks.outer) {
      if (closer.at >= at && closer.at < at + rest.size()) inside.push_back(closer);
    }
    return std::equal(inside.begin(), inside.end(), closers.begin(), closers.end(),
                      [&](const OuterCloser& a, const OuterCloser& b) {
                        return a.at == at + b.at && a.c == b.c && a.fate != Fate::stray;
                      });
  };
  const auto joined = [&](size_t at) {  // a word of the text goes on into the repetition
    const char previous = at > 0 ? text[at - 1] : place.around.left.empty() ? ' ' : place.around.left.back();
    return is_word(previous) && is_word(rest[0]);
  };
  size_t at = text.find(rest);
  for (int tries = 0; at != npos && tries < 16; ++tries, at = text.find(rest, at + 1)) {
    const size_t end = at + rest.size();
    if (marks.first_surplus() < at) return false;
    if (!marks.may_cut(at) || !marks.may_cut(end) || joined(at) || !same_closers(at)) continue;
    if (end < text.size() && is_word(text[end]) && is_word(rest.back())) continue;
    draft.drop_after = rest.size();
    const size_t surplus = marks.first_surplus(end);
    if (surplus != npos) cut_at(surplus, draft);
    return true;
  }
  return false;
}

// The rest of the line is only what an editor closes by itself: brackets and quotes, and perhaps a
// sign behind them. The text closes them in that order, with more between or behind.
bool cover_in_order(const Place& place, const Marks& marks, Draft& draft) {
  const string_view rest = place.around.rest;
  const auto closers = outer_closers(place, rest);
  if (closers.empty()) return false;
  for (size_t i = 0, next = 0; i < rest.size(); ++i) {
    if (next < closers.size() && closers[next].at == i) {
      ++next;
    } else if (!engine::is_blank(rest[i]) &&
               (next < closers.size() || string_view(";,:").find(rest[i]) == npos)) {
      return false;
    }
  }
  size_t matched = 0, behind = 0;
  size_t stop = npos;
  for (const OuterCloser& closer : marks.outer) {
    if (!closer.surplus()) continue;
    if (closer.fate == Fate::in_rest && matched < closers.size() &&
        closer.c == closers[matched].c) {
      ++matched;
      behind = closer.at + 1;
      continue;
    }
    stop = closer.at;
    break;
  }
  if (matched == 0) return false;
  const string_view left_over = rest.substr(closers[matched - 1].at + 1);
  const string_view tail = string_view(draft.text).substr(behind, stop == npos ? npos : stop - behind);
  if (!left_over.empty() && tail.find('\n') != npos) return false;
  if (stop != npos) cut_at(stop, draft);
  draft.text.resize(trim_right(draft.text).size());
  const bool sign_again = matched == closers.size() && draft.text.ends_with(left_over);
  if (!sign_again) draft.text.append(left_over);
  draft.drop_after = rest.size();
  return true;
}

}  // namespace

Marks::Marks(const Place& place, string_view text)
    : outer(outer_closers(place, text)), torn_(text.size() + 1, 0) {
  CodeScanner scanner = place.scanner;
  const size_t cursor = scanner.fed();
  const auto pair = [&](size_t opened, size_t closed) {  // torn by a cut after one, before the other
    ++torn_[opened + 1];
    --torn_[closed + 1];
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const Event event = scanner.push(text[i]);
    if (event == Event::closed && scanner.closed().at >= cursor) {
      pair(scanner.closed().at - cursor, i);
    } else if (event == Event::unquoted && scanner.quote_at() >= cursor) {
      pair(scanner.quote_at() - cursor, i);
    }
  }
  for (size_t i = 1; i < torn_.size(); ++i) torn_[i] += torn_[i - 1];
  for (engine::OpenBracket bracket : scanner.open()) {
    if (bracket.at < cursor) continue;
    bracket.at -= cursor;
    open.push_back(bracket);
  }
  in_own_string = scanner.in_string() && scanner.quote_at() >= cursor;
  if (in_own_string) {
    own_string_at = scanner.quote_at() - cursor;
    own_quote = scanner.quote();
  }
  if (!place.shell_case) return;
  // a pattern of a shell's case: the ')' behind the first word of a line
  for (OuterCloser& closer : outer) {
    if (closer.fate != Fate::stray || closer.c != ')') continue;
    const size_t line = text.substr(0, closer.at).rfind('\n') + 1;
    const string_view head = text.substr(line, closer.at - line);
    if (head.find_first_of("([{") == npos) closer.fate = Fate::free;
  }
}

size_t Marks::first_surplus(size_t from) const {
  for (const OuterCloser& closer : outer) {
    if (closer.at >= from && closer.surplus()) return closer.at;
  }
  return npos;
}

void cut_lines_below(const Place& place, Draft& draft) {
  const string_view text = draft.text;
  const std::vector<Line> lines = lines_of(text);
  const std::vector<string_view> below = lines_below(place, lines.size() + 1);
  if (below.empty()) return;
  const Marks marks(place, text);
  const string_view kept_left =
      place.around.left.substr(0, place.around.left.size() - draft.drop_before);
  const std::string first = std::string(kept_left) + std::string(text.substr(0, lines[0].end));
  const auto line = [&](size_t i) {
    return trim_right(i == 0 ? string_view(first)
                             : text.substr(lines[i].start, lines[i].end - lines[i].start));
  };
  // Do all lines from `i` on stand below? The last may be the beginning of one.
  const auto stand_below = [&](size_t i) {
    size_t next = 0;
    for (; i < lines.size(); ++i) {
      if (line(i).empty()) continue;
      if (next == below.size()) return false;
      const bool unfinished = i + 1 == lines.size() && next > 0 && below[next].starts_with(line(i));
      if (line(i) != below[next] && !unfinished) return false;
      ++next;
    }
    return next > 0;
  };
  const string_view rest = place.around.rest;
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t before_line = i == 0 ? 0 : lines[i - 1].end;
    if (rest.empty() || i > 0) {
      const bool all = line(i) == below[0] && stand_below(i);
      const bool one = line(i) == below[0] && has_word(line(i));
      if ((all || one) && marks.may_cut(before_line)) {
        draft.text.resize(before_line);
        if (is_blank(draft.text)) draft.reason = "already present";
        return;
      }
    }
    if (!rest.empty() && i + 1 < lines.size()) {
      // the rest of the line, and then the lines below
      const string_view whole = trim_right(text.substr(lines[i].start, lines[i].end - lines[i].start));
      if (!whole.ends_with(rest) || !stand_below(i + 1)) continue;
      const size_t at = lines[i].start + whole.size() - rest.size();
      if (!marks.may_cut(at) || marks.first_surplus() < at) continue;
      draft.text.resize(at);
      if (is_blank(draft.text)) draft.reason = "already present";
      return;
    }
  }
}

void join_rest(const Place& place, Draft& draft) {
  const bool had_text = !is_blank(draft.text);
  const Marks marks(place, draft.text);
  const bool done = !place.around.rest.empty() &&
                    (cut_overlap(place, marks, draft) || cover_exact(place, marks, draft) ||
                     cover_in_order(place, marks, draft));
  if (!done && marks.first_surplus() != npos) cut_at(marks.first_surplus(), draft);
  if (had_text && is_blank(draft.text)) draft.reason = "already present";
}

void keep_balance(const Place& place, Draft& draft) {
  const string_view rest = rest_left(place, draft);
  Marks marks(place, draft.text);
  if (marks.in_own_string && draft.text.find('\n', marks.own_string_at) == npos) {
    if (rest.empty()) {
      // A string that its line does not end would swallow what is typed next.
      draft.text.resize(trim_right(string_view(draft.text).substr(0, marks.own_string_at)).size());
      if (is_blank(draft.text)) draft.reason = "unfinished string";
      return;
    }
    draft.text.push_back(marks.own_quote);
    marks = Marks(place, draft.text);
  }
  if (rest.empty() || marks.open.empty()) return;
  // What the rest of the line closes was open before: the text closes its own.
  if (draft.text.find('\n', marks.open[0].at) == npos && marks.open.size() <= 4) {
    const size_t size = draft.text.find_last_not_of(" \t,");
    draft.text.resize(size + 1);
    for (size_t i = marks.open.size(); i-- > 0;) {
      const char kind = marks.open[i].kind;
      draft.text.push_back(kind == '(' ? ')' : kind == '[' ? ']' : '}');
    }
    return;
  }
  const size_t line = string_view(draft.text).substr(0, marks.open[0].at).rfind('\n');
  draft.text.resize(line == npos ? 0 : line);
  if (is_blank(draft.text)) draft.reason = "unbalanced";
}

void keep_apart(const Place& place, Draft& draft) {
  const string_view rest = rest_left(place, draft);
  if (rest.empty() || draft.drop_after > 0 || draft.text.empty()) return;
  if (!is_word(draft.text.back()) || !is_word(rest[0])) return;
  const string_view left = place.around.left;
  const bool inside_word = !left.empty() && is_word(left.back()) &&
                           std::all_of(draft.text.begin(), draft.text.end(), is_word);
  if (inside_word) return;
  if (!place.around.left_blank) {
    draft.reason = "runs into the text that follows";
    return;
  }
  draft.text.append("\n").append(left);  // a line of its own
}

}  // namespace foretoken::lsp::rules

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

bool has_word(string_view line) {
  return std::any_of(line.begin(), line.end(), is_word);
}

// May the text end at `at`, where the document, which it repeats from there on, takes its place?
bool may_hand_over(const Place& place, const Marks& marks, string_view text, size_t at,
                   string_view behind) {
  const size_t cut = misfit(place, text.substr(0, at), behind);
  const size_t whole = misfit(place, text, behind);
  return marks.may_cut(at) ? cut <= whole : cut < whole;
}

// Cut before `at`; a line of which nothing else is left goes too.
void cut_at(size_t at, Draft& draft) {
  const size_t line = draft.text.rfind('\n', at == 0 ? 0 : at - 1);
  const bool alone = at > 0 && line != npos && line < at &&
                     is_blank(string_view(draft.text).substr(line, at - line));
  draft.text.resize(alone ? line : at);
  draft.cut = true;
}

bool is_in_order(string_view part, string_view text) {
  size_t next = 0;
  for (const char c : text) next += next < part.size() && part[next] == c;
  return next == part.size();
}

// Lengths of the ends of `text` that are beginnings of `rest`, longest first (Knuth, Morris,
// Pratt).
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
  int tries = 0;
  for (const size_t length : overlaps(text, rest)) {
    if (++tries > 16) break;
    const size_t at = text.size() - length;
    const bool whole_characters = length == rest.size() || (rest[length] & 0xC0) != 0x80;
    // The beginning of a word says little: all of it that the text ends in, and three letters.
    const bool inside_word =
        length < rest.size() && is_word(rest[length - 1]) && is_word(rest[length]);
    if (inside_word && (length < 3 || (at > 0 && is_word(text[at - 1])))) continue;
    if (!whole_characters) continue;
    const bool fits =
        marks.first_surplus() >= at ||
        misfit(place, text.substr(0, at), behind(place)) <= misfit(place, "", behind(place));
    if (!fits) continue;
    if (!may_hand_over(place, marks, text, at, behind(place))) continue;
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
    const char previous = at > 0                      ? text[at - 1]
                          : place.around.left.empty() ? ' '
                                                      : place.around.left.back();
    return is_word(previous) && is_word(rest[0]);
  };
  size_t at = text.find(rest);
  for (int tries = 0; at != npos && tries < 16; ++tries, at = text.find(rest, at + 1)) {
    const size_t end = at + rest.size();
    if (marks.first_surplus() < at) return false;
    if (!marks.may_cut(at) || !marks.may_cut(end) || joined(at) || !same_closers(at)) continue;
    if (end < text.size() && is_word(text[end]) && is_word(rest.back())) continue;
    if (marks.first_surplus(end) != npos) return false;
    draft.drop_after = rest.size();
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
  for (const OuterCloser& closer : marks.outer) {
    if (!closer.surplus()) continue;
    if (matched == closers.size() || closer.c != closers[matched].c) break;
    ++matched;
    behind = closer.at + 1;
  }
  if (matched == 0) return false;
  const string_view left_over = rest.substr(closers[matched - 1].at + 1);
  const string_view text = trim_right(draft.text);
  const string_view tail = text.substr(std::min(behind, text.size()));
  if (!left_over.empty() && tail.find('\n') != npos) return false;
  std::string whole(text);
  const bool sign_again = matched == closers.size() && text.ends_with(left_over);
  if (!sign_again) whole.append(left_over);
  if (!is_in_order(rest, whole)) return false;
  draft.text = whole;
  draft.drop_after = rest.size();
  return true;
}

}  // namespace

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
  const auto document_to = [&](string_view line_below) {
    const auto size = line_below.data() + line_below.size() - place.after.data();
    return behind(place, 0, static_cast<size_t>(size));
  };
  string_view last_below = below[0];  // the last line that stand_below has found
  // Do all lines from `i` on stand below? The last may be the beginning of one.
  const auto stand_below = [&](size_t i) {
    size_t next = 0;
    for (; i < lines.size(); ++i) {
      if (line(i).empty()) continue;
      if (next == below.size()) return false;
      const bool unfinished = i + 1 == lines.size() && next > 0 && below[next].starts_with(line(i));
      if (line(i) != below[next] && !unfinished) return false;
      last_below = below[next];
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
      const string_view again = all ? document_to(last_below) : document_to(below[0]);
      if ((all || one) && may_hand_over(place, marks, text, before_line, again)) {
        draft.text.resize(before_line);
        draft.cut = true;
        if (is_blank(draft.text)) draft.reason = "already present";
        return;
      }
    }
    if (!rest.empty() && i + 1 < lines.size()) {
      // the rest of the line, and then the lines below
      const string_view whole =
          trim_right(text.substr(lines[i].start, lines[i].end - lines[i].start));
      if (!whole.ends_with(rest) || !stand_below(i + 1)) continue;
      const size_t at = lines[i].start + whole.size() - rest.size();
      if (marks.first_surplus() < at) continue;
      if (!may_hand_over(place, marks, text, at, document_to(last_below))) continue;
      draft.text.resize(at);
      if (is_blank(draft.text)) draft.reason = "already present";
      return;
    }
  }
}

void join_rest(const Place& place, Draft& draft) {
  const bool had_text = !is_blank(draft.text);
  {  // what the lines below close, and what nothing opens
    const Marks marks(place, draft.text);
    const auto ends = std::find_if(marks.outer.begin(), marks.outer.end(), [](const auto& closer) {
      return closer.surplus() && closer.fate != Fate::in_rest;
    });
    if (ends != marks.outer.end()) cut_at(ends->at, draft);
  }
  const Marks marks(place, draft.text);
  const bool done = !place.around.rest.empty() &&
                    (cut_overlap(place, marks, draft) || cover_exact(place, marks, draft) ||
                     cover_in_order(place, marks, draft));
  if (!done && marks.first_surplus() != npos) cut_at(marks.first_surplus(), draft);
  if (had_text && is_blank(draft.text)) draft.reason = "already present";
}

}  // namespace foretoken::lsp::rules

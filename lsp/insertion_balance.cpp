// Do brackets and quotes fit together, and what is to be done where they do not.
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

}  // namespace

std::vector<OuterCloser> outer_closers(const Place& place, string_view text) {
  std::vector<OuterCloser> outer;
  CodeScanner scanner = place.scanner;
  const size_t cursor = scanner.fed();
  size_t open = scanner.open().size();  // at the cursor, and not closed since
  for (size_t i = 0; i < text.size(); ++i) {
    const Event event = scanner.push(text[i]);
    if (event == Event::stray) {
      outer.push_back({i, text[i], Fate::stray});
    } else if (event == Event::closed && scanner.closed().at < cursor) {
      const size_t index = scanner.open().size();
      Fate fate = place.closed_in_rest[index]    ? Fate::in_rest
                  : place.closed_in_after[index] ? Fate::below
                                                 : Fate::free;
      while (--open > index) {  // it passes over brackets: they may not be about to be closed
        if (place.closed_in_after[open]) fate = Fate::stray;
      }
      outer.push_back({i, text[i], fate});
    } else if (event == Event::unquoted && scanner.quote_at() < cursor) {
      outer.push_back({i, text[i], place.quote_closed_in_rest ? Fate::in_rest : Fate::free});
    }
  }
  return outer;
}

string_view behind(const Place& place, size_t drop_after, size_t at_least) {
  return place.after.substr(drop_after, std::max<size_t>(1024, at_least));
}

size_t misfit(const Place& place, string_view text, string_view behind) {
  CodeScanner scanner = place.scanner;
  constexpr size_t kStray = 1000000, kAskew = 1000;
  size_t misfit = 0, columns = 0;
  bool line_start = false, in_text = true;
  const auto push = [&](char c) {
    const size_t open = scanner.open().size();
    const Event event = scanner.push(c);
    if (event == Event::stray) misfit += kStray;
    if (event != Event::closed) return;
    misfit += (in_text ? kStray : 1) * (open - scanner.open().size() - 1);  // those stay open
    if (line_start && c == '}' && scanner.closed().indent != columns) misfit += kAskew;
  };
  for (const char c : text) push(c);
  scanner.distrust_column();
  in_text = false;
  bool rest = true;
  for (const char c : behind) {
    if (c == '\n') {
      if (rest) misfit += scanner.in_string();
      rest = false;
      columns = 0;
      scanner.push(c);
      line_start = true;
      continue;
    }
    push(c);
    if (is_blank(c)) {
      columns = c == '\t' ? (columns / 4 + 1) * 4 : columns + 1;
    } else {
      line_start = false;
    }
  }
  if (rest) misfit += scanner.in_string();
  return misfit + scanner.open().size();
}

string_view rest_left(const Place& place, const Draft& draft) {
  return place.around.rest.substr(std::min(draft.drop_after, place.around.rest.size()));
}

Marks::Marks(const Place& place, string_view text)
    : outer(outer_closers(place, text)), torn_(text.size() + 1, 0) {
  const auto is = [&](Fate fate) {
    return std::any_of(outer.begin(), outer.end(), [&](const auto& c) { return c.fate == fate; });
  };
  // Text that leaves all as well balanced as it was may close what it likes.
  if ((is(Fate::in_rest) || is(Fate::below)) && !is(Fate::stray) &&
      misfit(place, text, behind(place)) <= misfit(place, "", behind(place))) {
    for (OuterCloser& closer : outer) closer.fate = Fate::free;
  }
  CodeScanner scanner = place.scanner;
  const size_t cursor = scanner.fed();
  const auto pair = [&](size_t opened,
                        size_t closed) {  // torn by a cut after one, before the other
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
    own_string_spans_lines = scanner.spans_lines();
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

void keep_balance(const Place& place, Draft& draft) {
  const string_view rest = rest_left(place, draft);
  const Marks marks(place, draft.text);
  if (marks.in_own_string && draft.drop_after > 0) {
    draft.reason = "unfinished string";
    return;
  }
  if (rest.empty()) {
    // A string that its line does not end would swallow what is typed next.
    if (!marks.in_own_string || marks.own_string_spans_lines) return;
    draft.text.resize(trim_right(string_view(draft.text).substr(0, marks.own_string_at)).size());
    draft.cut = true;
    if (is_blank(draft.text)) draft.reason = "unfinished string";
    return;
  }
  // Does the rest of the line now close what the text has opened, and not what it closed before?
  if (marks.own_string_spans_lines) return;
  std::string closers(marks.in_own_string ? 1 : 0, marks.own_quote);
  for (size_t i = marks.open.size(); i-- > 0;) {
    const char kind = marks.open[i].kind;
    closers.push_back(kind == '(' ? ')' : kind == '[' ? ']' : '}');
  }
  if (closers.empty()) return;
  const size_t first = marks.open.empty() ? marks.own_string_at : marks.open[0].at;
  const string_view text = draft.text;
  std::string better;
  if (text.find('\n', first) == npos && closers.size() <= 4) {
    better = text.substr(0, marks.in_own_string ? npos : text.find_last_not_of(" \t,") + 1);
    better += closers;
  } else {
    const size_t line = text.substr(0, first).rfind('\n');
    better = text.substr(0, line == npos ? 0 : line);
  }
  const string_view after = behind(place, draft.drop_after);
  if (misfit(place, better, after) >= misfit(place, text, after)) return;
  draft.text = better;
  draft.cut = true;
  if (is_blank(draft.text)) draft.reason = "unbalanced";
}

void keep_apart(const Place& place, Draft& draft) {
  const string_view rest = rest_left(place, draft);
  if (rest.empty() || draft.drop_after > 0 || !draft.cut || draft.text.empty()) return;
  if (!is_word(draft.text.back()) || !is_word(rest[0])) return;
  draft.reason = "runs into the text that follows";
}

}  // namespace foretoken::lsp::rules

// Blanks: the indentation of the text's lines, and none at line ends.
#include <algorithm>
#include <array>
#include <cstdint>

#include "lsp/insertion_rules.h"

namespace foretoken::lsp::rules {
namespace {

using engine::indent_columns;
using engine::is_blank;
using std::string_view;

constexpr size_t kLinesSeen = 400;  // above and below

string_view leading_blanks(string_view line) {
  return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
}

string_view first_line(string_view text) {
  return text.substr(0, text.find('\n'));
}

// Calls see(line) for the lines above the cursor's, nearest first, until it says stop or there have
// been enough.
template <typename See>
void lines_above(string_view before, const See& see) {
  size_t end = before.rfind('\n');
  for (size_t i = 0; i < kLinesSeen && end != string_view::npos; ++i) {
    const size_t start = end == 0 ? 0 : before.rfind('\n', end - 1) + 1;
    const string_view line = before.substr(start, end - start);
    if (!is_blank(line) && !see(line)) return;
    end = start == 0 ? string_view::npos : start - 1;
  }
}

struct Style {
  bool known = false, tabs = false;
  size_t unit = 4;  // spaces
};

Style style_of(const Place& place) {
  size_t tabs = 0, spaces = 0, unit = 0;
  const auto see = [&](string_view line) {
    const string_view blanks = leading_blanks(line);
    if (blanks.empty()) return true;
    if (blanks[0] == '\t') {
      ++tabs;
    } else if (blanks.size() >= 2) {
      ++spaces;
      unit = unit == 0 ? blanks.size() : std::min(unit, blanks.size());
    }
    return true;
  };
  lines_above(place.before, see);
  string_view below = place.around.below;
  for (size_t i = 0; i < kLinesSeen && !below.empty(); ++i) {
    const string_view line = first_line(below);
    if (!is_blank(line)) see(line);
    below.remove_prefix(std::min(line.size() + 1, below.size()));
  }
  if (tabs + spaces == 0 && place.around.left_blank && !place.around.left.empty()) {
    (place.around.left[0] == '\t' ? tabs : spaces) = 1;  // all there is to go by
  }
  Style style;
  style.known = std::max(tabs, spaces) > 8 * std::min(tabs, spaces);  // mixed files are left alone
  style.tabs = tabs > spaces;
  if (unit >= 2 && unit <= 8) style.unit = unit;
  return style;
}

// Which number of the text's spaces stands for one tab.
size_t spaces_per_tab(const Place& place, const std::vector<size_t>& counts) {
  size_t depth = indent_columns(place.around.left) / 4;
  if (place.around.left_blank) {
    lines_above(place.before, [&](string_view line) {
      depth = std::max(depth, indent_columns(line) / 4);
      return false;
    });
  }
  for (const size_t width : {4, 2, 8, 3}) {
    const bool divides =
        std::all_of(counts.begin(), counts.end(), [&](size_t count) { return count % width == 0; });
    if (divides && (counts.empty() || counts[0] / width <= depth + 1)) return width;
  }
  return 4;
}

bool is_end(string_view word) {
  return word == "end" || word == "fi" || word == "done" || word == "esac";
}

// Opens what `word` (else, end, …) belongs to?
bool belongs(string_view line, string_view word) {
  constexpr std::array<string_view, 16> openers = {
      "if",   "elif", "elsif",  "else",  "for", "while", "try",    "except",
      "case", "when", "unless", "until", "def", "begin", "rescue", "do"};
  line = engine::trim(line);
  size_t end = 0;
  while (end < line.size() && engine::is_word(line[end])) ++end;
  const string_view first = line.substr(0, end);
  if (word == "elif") return first == "if" || first == "elif";
  if (word == "except" || word == "finally") return first == "try" || first == "except";
  if (is_end(word)) {
    return first == "class" || first == "module" || first == "function" || line.ends_with("do") ||
           line.ends_with('|') || line.ends_with("then") ||
           std::find(openers.begin(), openers.end(), first) != openers.end();
  }
  return std::find(openers.begin(), openers.end(), first) != openers.end() && first != "def";
}

// Columns of the line that `word` belongs to; the cursor's own where it stands right.
size_t column_of_partner(const Place& place, string_view word, size_t columns) {
  size_t level = columns, found = columns, ended = 0;
  lines_above(place.before, [&](string_view line) {
    const size_t indent = indent_columns(line);
    if (indent > level) return true;
    const bool partner = belongs(line, word);
    if (indent == level) {  // what has its own end is no partner
      if (is_end(word) && engine::is_end_word_line(line)) ++ended;
      if (!partner) return true;
      if (ended == 0) return false;
      --ended;
      return true;
    }
    level = indent;
    ended = 0;
    if (partner) found = indent;
    return found == columns && level > 0;
  });
  return found;
}

// The first line gets the indentation `blanks`: what is typed of it stays, the rest is added.
void indent_first_line(const Place& place, string_view blanks, string_view body, Draft& draft) {
  const string_view typed = place.around.left;
  const auto both = std::mismatch(typed.begin(), typed.end(), blanks.begin(), blanks.end());
  const auto common = static_cast<size_t>(both.first - typed.begin());
  draft.drop_before = typed.size() - common;
  draft.text = std::string(blanks.substr(common)) + std::string(body);
}

}  // namespace

void fit_style(const Place& place, Draft& draft) {
  const Style style = style_of(place);
  if (!style.known) return;
  std::vector<size_t> counts;
  std::vector<std::pair<size_t, size_t>> spots;  // where blanks begin, how many
  bool differs = false;
  for (size_t start = 0; start < draft.text.size();) {
    const string_view line = first_line(string_view(draft.text).substr(start));
    const string_view blanks = leading_blanks(line);
    const bool whole = start > 0 || place.around.left_blank;
    if (whole && !blanks.empty() && blanks.size() < line.size()) {
      spots.push_back({start, blanks.size()});
      const bool foreign = style.tabs ? blanks.find("  ") == 0 : blanks.find('\t') != blanks.npos;
      differs = differs || foreign;
      if (style.tabs && blanks.find('\t') == blanks.npos) counts.push_back(blanks.size());
    }
    start += line.size() + 1;
  }
  if (!differs) return;
  const size_t width = style.tabs ? spaces_per_tab(place, counts) : style.unit;
  std::string text;
  size_t copied = 0;
  for (const auto& [start, size] : spots) {
    text.append(draft.text, copied, start - copied);
    size_t tabs = 0, spaces = 0;
    for (const char c : string_view(draft.text).substr(start, size)) {
      c == '\t' ? ++tabs : ++spaces;
    }
    if (style.tabs) {
      text.append(tabs + spaces / width, '\t').append(spaces % width, ' ');
    } else {
      text.append(tabs * width + spaces, ' ');
    }
    copied = start + size;
  }
  draft.text = text.append(draft.text, copied);
}

void fit_indentation(const Place& place, bool whole_line, Draft& draft) {
  const string_view left = place.around.left;
  if (!place.around.left_blank) {  // one blank between words is enough
    const bool one = left.back() == ' ' && !is_blank(left[left.size() - 2]);
    if (one && !place.scanner.in_comment() && draft.text.size() > 1 && draft.text[0] == ' ' &&
        draft.text[1] != ' ' && draft.text[1] != '\n') {
      draft.text.erase(0, 1);
    }
    return;
  }
  const std::string text = draft.text;
  const string_view blanks = leading_blanks(text);
  const string_view body = string_view(text).substr(blanks.size());
  if (whole_line) {
    indent_first_line(place, blanks, body, draft);
    return;
  }
  const size_t typed = indent_columns(left), added = indent_columns(blanks);
  if (typed == 0 || added < typed || body.starts_with('\n')) return;
  // The text may repeat what is typed: it does, where both together are deeper than a line can be.
  size_t deepest = 0;
  lines_above(place.before, [&](string_view line) {
    deepest = indent_columns(line);
    return false;
  });
  if (engine::find_opener(place.before, place.around, place.lexical).kind !=
      engine::Opener::Kind::none) {
    deepest += style_of(place).unit;
  }
  if (typed + added > deepest && added <= std::max(deepest, typed)) {
    indent_first_line(place, blanks, body, draft);
  }
}

void dedent_closers(const Place& place, Draft& draft) {
  if (!place.around.left_blank || draft.drop_before > 0) return;
  const std::string text = draft.text;
  const string_view blanks = leading_blanks(text);
  const string_view body = string_view(text).substr(blanks.size());
  if (body.empty() || body[0] == '\n') return;
  const size_t columns = indent_columns(std::string(place.around.left) + std::string(blanks));
  size_t wanted = columns;
  if (body[0] == ')' || body[0] == ']' || body[0] == '}') {
    engine::CodeScanner scanner = place.scanner;
    if (scanner.push(body[0]) != engine::CodeScanner::Event::closed) return;
    wanted = scanner.closed().indent;
  } else if (place.lexical.hash_comments) {
    size_t end = 0;
    while (end < body.size() && engine::is_word(body[end])) ++end;
    const string_view word = body.substr(0, end);
    constexpr std::array<string_view, 12> words = {"else",    "elif",   "elsif",  "except",
                                                   "finally", "end",    "fi",     "done",
                                                   "esac",    "rescue", "ensure", "when"};
    if (std::find(words.begin(), words.end(), word) == words.end()) return;
    wanted = column_of_partner(place, word, columns);
  }
  if (wanted >= columns) return;
  const std::string typed = std::string(place.around.left) + std::string(blanks);
  size_t keep = 0;
  while (keep < typed.size() && indent_columns(string_view(typed).substr(0, keep)) < wanted) ++keep;
  if (indent_columns(string_view(typed).substr(0, keep)) != wanted) return;
  indent_first_line(place, string_view(typed).substr(0, keep), body, draft);
}

void trim_blanks(const Place& place, Draft& draft) {
  const string_view left = place.around.left;
  const string_view rest =
      place.around.rest.substr(std::min(draft.drop_after, place.around.rest.size()));
  const bool goes_on = !rest.empty() && !engine::is_blank(rest[0]);  // in its last line
  std::string text;
  for (size_t start = 0; start <= draft.text.size();) {
    const string_view line = first_line(string_view(draft.text).substr(start));
    const bool last = start + line.size() >= draft.text.size();
    text.append(last && goes_on ? line : engine::trim_right(line));
    if (!last) text.push_back('\n');
    start += line.size() + 1;
  }
  if (rest.empty()) {
    text.resize(engine::trim_right(text).size());
  } else if (text.ends_with('\n') && is_blank(left)) {
    text.append(left);  // the line that is pushed down keeps its indentation
  } else if (text.ends_with('\n') && text.find('\n') + 1 == text.size()) {
    text.pop_back();  // one line that was not meant to lead on to the rest of this one
    draft.cut = true;
  }
  draft.text = text;
}

}  // namespace foretoken::lsp::rules

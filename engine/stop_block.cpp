#include "engine/stop_block.h"

#include <algorithm>

namespace foretoken::engine {
namespace {

constexpr int kMaxLines = 20;
constexpr int kMaxBlankLines = 3;  // in a row
constexpr size_t kLongRest = 12;   // bytes that cannot come again by chance
constexpr size_t kScanned = 16 * 1024;
constexpr size_t kLongestLine = 1024;

std::string_view tail(std::string_view text, size_t size) {
  return text.substr(text.size() - std::min(size, text.size()));
}

// Lines that go on with the statement above them although they are not deeper.
bool continues_statement(std::string_view line) {
  for (std::string_view word : {"else", "elif", "except", "finally", "catch", "elsif", "rescue",
                                "ensure", "case", "default", "when", "while"}) {
    if (line.starts_with(word) && (line.size() == word.size() || !is_word(line[word.size()]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

StopPlace::StopPlace(std::string_view before, std::string_view after)
    : lexical(guess_lexical(before, after)), scanner(lexical) {
  before = scan_window(before, kScanned, lexical);
  after = after.substr(0, kScanned);
  const Surroundings around(before, after);
  left = tail(around.left, kLongestLine);
  rest = around.rest.substr(0, kLongestLine);
  next_line = around.next_line.substr(0, kLongestLine);
  has_next = around.has_next;
  left_blank = around.left_blank;
  opener = find_opener(before, around, lexical);
  scanner.push(before);
  closed_below = closed_in(scanner, after);
}

bool StopPlace::is_next_line(std::string_view line) const {
  return rest.empty() && has_next && trim_right(line) == next_line;
}

BlockRule::BlockRule(const StopPlace& place)
    : cursor_(place.scanner.fed()),
      columns_(indent_columns(place.left)),
      blank_so_far_(place.left_blank),
      in_string_(place.scanner.in_string()) {
  if (place.left_blank) return;
  floor_ = columns_;  // the cursor's line goes on: its own indentation counts
  if (floor_ > 0) {
    floor_ = std::min(
        floor_, place.has_next ? std::max<size_t>(indent_columns(place.next_line), 1) : size_t{1});
  }
  floor_known_ = true;
}

std::optional<BlockRule::End> BlockRule::push(const StopPlace& place, std::string_view text,
                                              const CodeScanner& scanner,
                                              CodeScanner::Event event) {
  using Event = CodeScanner::Event;
  const char c = text.back();
  if (c == '\n') return end_of_line(place, text, scanner);
  const bool outer =
      event == Event::stray || (event == Event::closed && scanner.closed().at < cursor_);
  if (closed_at_ > 0 && place.opener.bracket == '{') {
    const bool belongs =
        c == ';' || c == ',' ||
        (outer && event == Event::closed && !place.closed_below[scanner.open().size()]);
    if (!belongs) return End{closed_at_, StopReason::block_end};
    closed_at_ = text.size();
    return std::nullopt;
  }
  if (event == Event::closed && !outer && scanner.closed().at < cursor_ + line_start_) {
    closes_own_ = true;
  }
  const bool first = blank_so_far_ && !is_blank(c);
  if (blank_so_far_ && is_blank(c)) columns_ = c == '\t' ? (columns_ / 4 + 1) * 4 : columns_ + 1;
  blank_so_far_ = blank_so_far_ && is_blank(c);
  if (first && !in_string_) {
    if (const auto end = first_of_line(place, c, outer)) return end;
  }
  if (outer) {
    if (const auto end = outer_closer(place, text, scanner, first)) return end;
    outer_.push_back(text.size() - 1);
  }
  if (place.rest.size() >= kLongRest && text.ends_with(place.rest)) {
    return End{text.size() - place.rest.size(), StopReason::suffix_repeated};
  }
  return std::nullopt;
}

// The line's indentation is known, and its first character: does it still belong to the block?
std::optional<BlockRule::End> BlockRule::first_of_line(const StopPlace& place, char c,
                                                       bool is_outer_closer) {
  const Opener& opener = place.opener;
  const bool closer = c == ')' || c == ']' || c == '}';
  if (opener.kind != Opener::Kind::none) {
    if (is_outer_closer || columns_ > opener.indent || closer) return std::nullopt;
    may_be_end_ = columns_ == opener.indent &&
                  (opener.kind == Opener::Kind::word || opener.kind == Opener::Kind::tag);
    if (may_be_end_) return std::nullopt;  // decided at the line's end
    return End{whole_line_, StopReason::block_end};
  }
  if (!floor_known_) {
    floor_known_ = true;
    floor_ = columns_;
    if (floor_ > 0) {
      floor_ =
          std::min(floor_, place.has_next ? std::max<size_t>(indent_columns(place.next_line), 1)
                                          : size_t{1});
    }
    return std::nullopt;
  }
  if (columns_ > floor_) seen_deeper_ = true;
  if (closer) return std::nullopt;
  if (columns_ < floor_) return End{whole_line_, StopReason::block_end};
  if (columns_ == 0 && line_start_ > 0) may_be_end_ = seen_deeper_ || seen_blank_;
  return std::nullopt;
}

// A bracket closes that was open at the cursor, or nowhere.
std::optional<BlockRule::End> BlockRule::outer_closer(const StopPlace& place, std::string_view text,
                                                      const CodeScanner& scanner, bool first) {
  const bool known =
      scanner.open().size() < place.closed_below.size() && scanner.closed().at < cursor_;
  const bool below = known && place.closed_below[scanner.open().size()];
  const size_t before_it = text.size() - 1;
  const size_t keep = first ? whole_line_ : before_it;
  if (place.opener.kind == Opener::Kind::bracket && known &&
      scanner.closed().at <= place.opener.bracket_at) {
    if (below) return End{keep, StopReason::block_end};
    closed_at_ = text.size();
    return std::nullopt;
  }
  if (first && (place.opener.kind != Opener::Kind::none || below || columns_ < floor_)) {
    return End{whole_line_, StopReason::block_end};
  }
  return std::nullopt;
}

std::optional<BlockRule::End> BlockRule::end_of_line(const StopPlace& place, std::string_view text,
                                                     const CodeScanner& scanner) {
  const size_t end = text.size() - 1;
  if (closed_at_ > 0) return End{end, StopReason::block_end};
  const std::string_view generated = text.substr(line_start_, end - line_start_);
  const std::string line =
      line_start_ == 0 ? place.left + std::string(generated) : std::string(generated);
  const bool blank = is_blank(generated);
  if (!blank) {
    const std::string_view code = trim(line);
    if (may_be_end_) {
      const bool tag = place.opener.kind == Opener::Kind::tag;
      const bool ends = place.opener.kind == Opener::Kind::none ? false
                        : tag ? code.starts_with("</" + place.opener.tag)
                              : is_end_word_line(code);
      const std::string_view next = trim(place.next_line);
      const bool below = place.has_next && indent_columns(place.next_line) == place.opener.indent &&
                         (tag ? next.starts_with("</" + place.opener.tag) : is_end_word_line(next));
      if (ends) {
        return below ? End{whole_line_, StopReason::suffix_repeated}
                     : End{end, StopReason::block_end};
      }
      if (!continues_statement(code) || place.opener.kind != Opener::Kind::none) {
        return End{whole_line_, StopReason::block_end};
      }
    }
    if (!closes_own_ && place.is_next_line(line))
      return End{whole_line_, StopReason::suffix_repeated};
    if (repeats_rest(place, text.substr(0, end))) {
      const size_t again = trim_right(text.substr(0, end)).size() - place.rest.size();
      return End{again, StopReason::suffix_repeated};
    }
    whole_line_ = end;
    if (!scanner.spans_lines() && (scanner.open().empty() || scanner.open().back().at < cursor_)) {
      sound_line_ = end;
    }
    blank_lines_ = 0;
    if (++lines_ >= kMaxLines) return End{sound_end(), StopReason::block_end};
  } else if (line_start_ > 0) {
    seen_blank_ = true;
    if (++blank_lines_ > kMaxBlankLines) return End{whole_line_, StopReason::block_end};
  }
  line_start_ = text.size();
  columns_ = 0;
  blank_so_far_ = true;
  in_string_ = scanner.spans_lines();
  closes_own_ = false;
  may_be_end_ = false;
  outer_.clear();
  return std::nullopt;
}

// Does the line end in what stands right of the cursor? A closing bracket counts only where the
// generated text has not opened it itself.
bool BlockRule::repeats_rest(const StopPlace& place, std::string_view text) const {
  text = trim_right(text);
  const std::string& rest = place.rest;
  if (rest.empty() || text.size() < line_start_ + rest.size() || !text.ends_with(rest))
    return false;
  const size_t start = text.size() - rest.size();
  CodeScanner scanner((Lexical()));
  for (size_t i = 0; i < rest.size(); ++i) {
    if (scanner.push(rest[i]) != CodeScanner::Event::stray) continue;
    if (std::find(outer_.begin(), outer_.end(), start + i) == outer_.end()) return false;
  }
  return true;
}

}  // namespace foretoken::engine

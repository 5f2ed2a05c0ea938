#include "engine/stop.h"

#include <algorithm>

namespace foretoken::engine {
namespace {

constexpr size_t kLongRest = 12;       // bytes that cannot come again by chance
constexpr size_t kLongestLine = 1000;  // bytes of one generated line

enum class ByteKind { blank, word, bracket_or_quote, operator_sign };

ByteKind kind_of(char c) {
  if (is_blank(c)) return ByteKind::blank;
  if (is_word(c)) return ByteKind::word;
  const bool single = std::string_view("()[]{}\"'`;,").find(c) != std::string_view::npos;
  return single ? ByteKind::bracket_or_quote : ByteKind::operator_sign;
}

// Without the bytes of a character whose end has not come.
size_t whole_characters(std::string_view text) {
  size_t start = text.size();
  size_t continuation = 0;
  while (start > 0 && continuation < 3 && (text[start - 1] & 0xC0) == 0x80) --start, ++continuation;
  if (start == 0) return text.size();
  const auto lead = static_cast<unsigned char>(text[start - 1]);
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  return length > 1 && continuation + 1 < length ? start - 1 : text.size();
}

}  // namespace

Mode decide_mode(std::string_view before, std::string_view after) {
  const StopPlace place(before, after);
  if (!place.rest.empty() || place.opener.kind == Opener::Kind::none) return Mode::line;
  if (place.left_blank && !place.left.empty() &&
      indent_columns(place.left) <= place.opener.indent) {
    return Mode::line;
  }
  const bool has_body = place.has_next && indent_columns(place.next_line) > place.opener.indent;
  return has_body ? Mode::line : Mode::block;
}

StopRule::StopRule(const StopContext& context)
    : mode_(context.mode == Mode::decide ? decide_mode(context.before, context.after)
                                         : context.mode),
      place_(context.before, context.after),
      scanner_(place_.scanner),
      block_(place_) {}

std::optional<StopRule::Verdict> StopRule::push(std::string_view bytes) {
  for (const char c : bytes) {
    if (verdict_) break;
    text_.push_back(c);
    verdict_ = step(c);
  }
  return verdict_;
}

std::optional<StopRule::Verdict> StopRule::step(char c) {
  const CodeScanner::Event event = scanner_.push(c);
  note_border(c);
  std::optional<Verdict> verdict;
  if (mode_ == Mode::word) {
    verdict = word_step(c);
  } else if (mode_ == Mode::block) {
    if (const auto end = block_.push(place_, text_, scanner_, event)) {
      verdict = Verdict{end->keep, end->reason};
    }
  } else {
    verdict = line_step(c);
  }
  if (!verdict) {
    if (const auto keep = repetition_.push(text_)) {
      verdict = Verdict{*keep, StopReason::repetition};
    } else if (text_.size() - line_start_ > kLongestLine) {
      verdict = Verdict{mode_ == Mode::block ? block_.sound_end() : 0, StopReason::repetition};
    }
  }
  if (c == '\n') line_start_ = text_.size();
  if (verdict) verdict->keep = sound_end(verdict->keep);
  return verdict;
}

std::optional<StopRule::Verdict> StopRule::word_step(char c) {
  const size_t start = std::min(text_.find_first_not_of(" \t"), text_.size() - 1);
  if (c == '\n') return Verdict{text_.size() - 1, StopReason::word_end};
  if (text_.size() - 1 == start) return std::nullopt;  // blanks, or the word's first byte
  const ByteKind kind = kind_of(text_[start]);
  if (kind == ByteKind::blank || (kind_of(c) == kind && kind != ByteKind::bracket_or_quote)) {
    return std::nullopt;
  }
  return Verdict{text_.size() - 1, StopReason::word_end};
}

std::optional<StopRule::Verdict> StopRule::line_step(char c) {
  const std::string_view text = text_;
  if (c != '\n') {
    if (place_.rest.size() < kLongRest || !text.ends_with(place_.rest)) return std::nullopt;
    return Verdict{text.size() - place_.rest.size(), StopReason::suffix_repeated};
  }
  const size_t end = text.size() - 1;
  const std::string_view generated = text.substr(line_start_, end - line_start_);
  if (is_blank(generated)) {
    // A line may begin below the cursor, where nothing stands right of it.
    if (line_start_ == 0 && place_.rest.empty()) return std::nullopt;
    return Verdict{0, StopReason::line_end};
  }
  const std::string line =
      line_start_ == 0 ? place_.left + std::string(generated) : std::string(generated);
  if (place_.is_next_line(line)) return Verdict{0, StopReason::suffix_repeated};
  // The break stays where the line does not lead on to what stands right of the cursor.
  const bool apart = !place_.rest.empty() && (place_.left_blank || runs_into_rest(end));
  return Verdict{end + (apart ? 1 : 0), StopReason::line_end};
}

bool StopRule::runs_into_rest(size_t end) const {
  return end > 0 && !place_.rest.empty() && is_word(text_[end - 1]) && is_word(place_.rest[0]);
}

// A place to cut lies after a whole word and after a closing bracket or quote, outside of strings
// that generated text has begun.
void StopRule::note_border(char c) {
  const bool own_string = scanner_.in_string() && scanner_.quote_at() >= place_.scanner.fed();
  if (own_string || is_word(c)) return;
  const bool closer = std::string_view(")]}\"'`").find(c) != std::string_view::npos;
  const bool word_before = text_.size() > 1 && is_word(text_[text_.size() - 2]);
  if (closer || word_before) word_border_ = text_.size() - (closer ? 0 : 1);
}

size_t StopRule::sound_end(size_t end) const {
  end = whole_characters(std::string_view(text_).substr(0, end));
  return is_blank(std::string_view(text_).substr(0, end)) ? 0 : end;
}

StopRule::Verdict StopRule::finish(bool cut_short) {
  if (verdict_) return *verdict_;
  if (cut_short) {
    size_t keep = mode_ == Mode::word ? 0 : word_border_;
    if (mode_ == Mode::block && block_.sound_end() > 0) keep = block_.sound_end();
    if (runs_into_rest(keep)) keep = 0;
    verdict_ = Verdict{sound_end(keep), StopReason::none};
    return *verdict_;
  }
  // The end of the text ends its last line too, and what rules say of that line holds.
  const size_t size = text_.size();
  StopRule ended = *this;
  const auto verdict = ended.push("\n");
  size_t keep = size;
  StopReason reason = StopReason::none;
  if (verdict && verdict->keep < size) {
    keep = verdict->keep;
    reason = verdict->reason;
  }
  if (place_.rest.empty()) keep = trim_right(std::string_view(text_).substr(0, keep)).size();
  verdict_ = Verdict{sound_end(keep), reason};
  return *verdict_;
}

}  // namespace foretoken::engine

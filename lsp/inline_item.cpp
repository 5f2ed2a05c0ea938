#include "lsp/inline_item.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace foretoken::lsp {
namespace {

/// Typed text is repeated in front of a suggestion up to here; a longer line repeats its last word.
constexpr size_t kMostRepeated = 200;

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_boundary(std::string_view text, size_t at) {
  return at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
}

/// Where the item's range starts, at or before `at`.
size_t stable_start(std::string_view text, size_t line_start, size_t at) {
  size_t start = line_start;
  while (start < at && is_blank(text[start])) ++start;
  if (at - start <= kMostRepeated) return start;
  start = at;
  while (start > line_start && at - start < kMostRepeated && is_word(text[start - 1])) --start;
  while (!is_boundary(text, start)) ++start;
  return start;
}

std::string lf(std::string_view text) {
  return to_lf(valid_utf8(text));
}

/// The selected suggestion fixes range and beginning; the answer may only add at its end.
std::optional<InlineItem> item_after_selection(const InlineQuestion& question,
                                               const CompletionAnswer& answer, size_t line_start) {
  const std::string& text = question.document->text();
  const std::string selected = lf(question.selected->text);
  const size_t selected_start = question.cursor - question.selected->text.size();
  std::string added = answer.text;
  // What stands right of the cursor stays: the range may not grow over it.
  const std::string_view kept =
      std::string_view(text).substr(question.cursor, answer.end - question.cursor);
  if (!added.ends_with(kept)) return std::nullopt;
  added.resize(added.size() - kept.size());

  const size_t from = std::max(selected_start, line_start);
  if (answer.start < from) return std::nullopt;
  const std::string whole =
      lf(std::string_view(text).substr(selected_start, answer.start - selected_start)) + lf(added);
  if (whole.size() <= selected.size() || !whole.starts_with(selected)) return std::nullopt;
  return InlineItem{whole, question.selected->range, ""};
}

}  // namespace

std::optional<InlineQuestion> make_question(std::shared_ptr<const Snapshot> document, Position at,
                                            const std::optional<SelectedCompletion>& selected,
                                            PositionEncoding encoding) {
  const std::string& text = document->text();
  const LineIndex& lines = document->lines();
  const size_t cursor = offset_of(text, lines, at, encoding);
  if (!selected) return InlineQuestion{std::move(document), cursor, std::nullopt};

  const size_t start = offset_of(text, lines, selected->range.start, encoding);
  const size_t end = offset_of(text, lines, selected->range.end, encoding);
  const Range& range = selected->range;
  const bool around_cursor =
      range.start.line == at.line && range.end.line == at.line && start <= cursor && cursor <= end;
  const bool is_there =
      start <= end && std::string_view(text).substr(start, end - start) == selected->text;
  if (is_there && !(around_cursor && end == cursor)) {
    return InlineQuestion{std::move(document), cursor, std::nullopt};
  }
  if (!around_cursor) return std::nullopt;

  std::string accepted = text.substr(0, start);
  accepted.append(selected->text).append(text, end, std::string::npos);
  auto with_selection =
      std::make_shared<const Snapshot>(document->uri(), document->language(), document->version(),
                                       std::move(accepted), document->in_sync());
  return InlineQuestion{std::move(with_selection), start + selected->text.size(), selected};
}

std::optional<InlineItem> make_item(const InlineQuestion& question, const CompletionAnswer& answer,
                                    PositionEncoding encoding) {
  const std::string& text = question.document->text();
  const LineIndex& lines = question.document->lines();
  const size_t line = lines.line_of(question.cursor);
  const size_t line_start = lines.start(line);
  const size_t line_end = lines.content_end(text, line);
  const bool fits = line_start <= answer.start && answer.start <= question.cursor &&
                    question.cursor <= answer.end &&
                    answer.end <= std::max(line_end, question.cursor) &&
                    is_boundary(text, answer.start) && is_boundary(text, answer.end);
  if (answer.text.empty() || !fits) return std::nullopt;
  if (question.selected) return item_after_selection(question, answer, line_start);

  const size_t start = stable_start(text, line_start, answer.start);
  const std::string_view replaced = std::string_view(text).substr(start, answer.end - start);
  std::string whole = lf(replaced.substr(0, answer.start - start)) + lf(answer.text);
  if (whole == replaced) return std::nullopt;
  return InlineItem{
      std::move(whole),
      {position_of(text, lines, start, encoding), position_of(text, lines, answer.end, encoding)},
      ""};
}

}  // namespace foretoken::lsp

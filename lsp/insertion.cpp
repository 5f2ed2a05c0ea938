#include "lsp/insertion.h"

#include <algorithm>

#include "lsp/insertion_rules.h"
#include "lsp/text.h"

namespace foretoken::lsp {
namespace rules {
namespace {

constexpr size_t kWindow = 32 * 1024;

bool has_shell_case(std::string_view before) {
  for (size_t at = before.rfind("case "); at != std::string_view::npos && at > 0;
       at = before.rfind("case ", at - 1)) {
    const std::string_view line = before.substr(at, before.find('\n', at) - at);
    if (engine::trim_right(line).ends_with(" in")) return true;
  }
  return before.starts_with("case ");
}

}  // namespace

Place::Place(const InsertionPlace& place)
    : after(place.after.substr(0, kWindow)),
      lexical(engine::guess_lexical(place.before, after)),
      before(engine::scan_window(place.before, kWindow, lexical)),
      around(before, after),
      scanner(lexical),
      shell_case(lexical.end_words && lexical.hash_comments && has_shell_case(before)),
      quote_closed_in_rest(false) {
  scanner.push(before);
  closed_in_rest = engine::closed_in(scanner, around.rest);
  closed_in_after = engine::closed_in(scanner, after);
  if (!scanner.in_string()) return;
  engine::CodeScanner rest = scanner;
  for (const char c : around.rest) {
    if (rest.push(c) != engine::CodeScanner::Event::unquoted) continue;
    quote_closed_in_rest = true;
    break;
  }
}

}  // namespace rules

Insertion make_insertion(const InsertionPlace& given, std::string_view raw) {
  constexpr size_t kLongest = 16 * 1024;
  rules::Draft draft;
  if (raw.size() > kLongest) {
    raw = raw.substr(0, raw.rfind('\n', kLongest) == std::string_view::npos
                            ? kLongest
                            : raw.rfind('\n', kLongest));
  }
  const auto result = [&]() -> Insertion {
    if (draft.reason.empty() && engine::is_blank(draft.text)) draft.reason = "blank";
    if (!draft.reason.empty()) return {"", 0, 0, draft.reason};
    return {std::move(draft.text), draft.drop_before, draft.drop_after, ""};
  };
  if (engine::is_blank(raw)) return result();
  draft.text = raw;

  const rules::Place place(given);
  clean_characters(place, draft);
  const auto step = [&](auto rule) {
    if (draft.reason.empty() && !engine::is_blank(draft.text)) rule();
  };
  step([&] { fit_style(place, draft); });
  step([&] { fit_indentation(place, given.whole_line, draft); });
  step([&] { dedent_closers(place, draft); });
  step([&] { cut_lines_below(place, draft); });
  for (int round = 0; round < 3; ++round) {  // what is cut may end in what follows it, once more
    step([&] { join_rest(place, draft); });
    step([&] { trim_blanks(place, draft); });
    const std::string joined = draft.text;
    step([&] { keep_balance(place, draft); });
    if (draft.text == joined || draft.drop_after > 0) break;
  }
  step([&] { keep_apart(place, draft); });
  return result();
}

}  // namespace foretoken::lsp

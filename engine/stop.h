// Where a completion ends: the rules that watch the text while it is decoded, so that decoding ends
// as soon as the end is known. Pure; no model, no tokens.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/completion.h"

namespace foretoken::engine {

/// What the rules know about the place. LF line ends only. Copied by StopRule.
struct StopContext {
  Mode mode = Mode::line;           // not `decide`
  std::string_view before;          // document left of the cursor (its tail suffices: last 64 KiB)
  std::string_view after;           // document right of the cursor (its head suffices: first 64 KiB)
};

enum class StopReason : uint8_t {
  none,            // decoding ended by itself (end-of-text token, token limit)
  word_end, line_end, block_end,
  suffix_repeated, // the text that stands right of the cursor comes again
  repetition,      // a cycle of lines or characters
};
const char* name(StopReason reason);

/// Mode::decide resolved: block where a block's body is being begun, else line.
Mode decide_mode(std::string_view before, std::string_view after);

/// Feed the generated text as it comes (after removal of healed, already typed bytes).
class StopRule {
 public:
  explicit StopRule(const StopContext& context);

  struct Verdict {
    size_t keep;        // bytes of the text fed so far that belong to the completion
    StopReason reason;
  };
  /// Nullopt: go on. The same text split in any way gives the same verdict.
  std::optional<Verdict> push(std::string_view bytes);
  /// Decoding ended for another reason. `cut_short`: by the token limit, so the last token is no
  /// natural end: what is kept ends at the last sound border (or is empty).
  Verdict finish(bool cut_short);

 private:
  Mode mode_;
  std::string before_, after_, text_;
  size_t seen_ = 0;
};

}  // namespace foretoken::engine

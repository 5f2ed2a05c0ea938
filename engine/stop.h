// Where a completion ends: the rules that watch the text while it is decoded, so that decoding ends
// as soon as the end is known. Pure; no model, no tokens.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/code_scan.h"
#include "engine/completion.h"
#include "engine/repetition.h"
#include "engine/stop_block.h"

namespace foretoken::engine {

/// What the rules know about the place. LF line ends only. Copied by StopRule.
struct StopContext {
  Mode mode = Mode::line;   // not `decide`
  std::string_view before;  // document left of the cursor (its tail suffices: last 64 KiB)
  std::string_view after;   // document right of the cursor (its head suffices: first 64 KiB)
};

/// Mode::decide resolved: block where a block's body is being begun, else line.
Mode decide_mode(std::string_view before, std::string_view after);

/// Feed the generated text as it comes (after removal of healed, already typed bytes). A value.
///
/// word: one word or operator, with the blanks before it.
/// line: to the line end; where nothing stands right of the cursor, a first line break and one
/// line.
///   The break is kept where a line stands right of the cursor that it does not lead on to.
/// block: while lines belong to the block: deeper than what opened it, up to the bracket or word
/// that closes it (kept where it is not already below), up to the text right of the cursor, twenty
/// lines. Where no block is being begun: as deep as the first line or the line below, never to
/// column 0.
class StopRule {
 public:
  explicit StopRule(const StopContext& context);

  struct Verdict {
    size_t keep;  // bytes of the text fed so far that belong to the completion
    StopReason reason;
  };
  /// Nullopt: go on. The same text split in any way gives the same verdict.
  std::optional<Verdict> push(std::string_view bytes);
  /// Decoding ended for another reason. `cut_short`: by the token limit, so the last token is no
  /// natural end: what is kept ends at the last sound border (or is empty).
  Verdict finish(bool cut_short);

 private:
  std::optional<Verdict> step(char c);
  std::optional<Verdict> word_step(char c);
  std::optional<Verdict> line_step(char c);
  void note_border(char c);
  bool runs_into_rest(size_t end) const;
  size_t sound_end(size_t end) const;

  Mode mode_;
  StopPlace place_;
  CodeScanner scanner_;  // in: the document left of the cursor, then text_
  BlockRule block_;
  Repetition repetition_;
  std::string text_;                // generated so far
  std::optional<Verdict> verdict_;  // the first one stays
  size_t word_border_ = 0;          // text_ may be cut here: no word and no string is torn
  size_t line_start_ = 0;
};

}  // namespace foretoken::engine

// What is asked of an engine and what it answers: plain structs, the whole of what crosses to the
// engine's thread or to the process that owns the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/completion.h"

namespace foretoken::engine {

struct Request {
  std::string document;                      // key of its layout history and of superseding
  std::string path;                          // shown to the model; may be empty
  std::shared_ptr<const std::string> text;   // LF line ends
  size_t cursor = 0;                         // byte offset, <= text->size()
  std::vector<ContextItem> context;          // most important first; see LayoutLimits::context()
  Mode mode = Mode::line;                    // not `decide`
  int max_tokens = 64;
  Priority priority = Priority::typing;
  bool reuse = true;                         // false: compute everything anew, leave nothing
  bool healing = true;
  bool usual_layout = false;                 // also: no healing
  bool want_card = false, want_prompt = false, want_hashes = false;
};

struct Completion {
  std::string text;            // as the model wrote it, cut where the stop rules say; whole characters
  bool from_line_start = false;// text replaces the typed indentation (asked from column 0)
  Finish finish = Finish::stop;
  StopReason stop_reason = StopReason::none;
  Source source = Source::engine;            // or in_flight: then text begins at the cursor of the
  std::string typed;                         // request it was begun for, `typed` was typed since, and
  size_t closed = 0;                         // the editor added so many bytes right of the cursor
  Stage cancelled_at = Stage::none;
  std::string reason;          // why text is empty, where the engine knows
  std::string error;           // not empty: the request failed; what and what to do
  Timings timings;
  std::vector<CardRow> card;
  std::string prompt;
  std::vector<uint64_t> hashes;// of the bits of the logits at every step, where asked for
  double logprob = 0;          // sum over the tokens that add text
};

}  // namespace foretoken::engine

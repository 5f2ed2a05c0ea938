// What a completion is, for everyone who asks for one: plain structs, no behaviour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace foretoken::engine {

/// Why decoding ended.
enum class Finish : uint8_t { stop, eos, length, cancelled, device_lost };
const char* name(Finish finish);  // "stop", …

/// Which rule ended the text.
enum class StopReason : uint8_t {
  none,  // decoding ended by itself (end-of-text token, token limit)
  word_end,
  line_end,
  block_end,
  suffix_repeated,  // the text that stands right of the cursor comes again
  repetition,       // a cycle of lines or characters
};
const char* name(StopReason reason);

/// How much is wanted. `decide` becomes one of the others from the text around the cursor.
enum class Mode : uint8_t { decide, word, line, block };
const char* name(Mode mode);

/// Who waits. A person at the keyboard goes before what that person is likely to ask next (computed
/// while nobody types), and that before scripts. What runs stops for what goes before it.
enum class Priority : uint8_t { typing, idle, background };
const char* name(Priority priority);

/// How far a request had come when it was cancelled or superseded. `none`: it was not.
enum class Stage : uint8_t { none, queue, prefill, decode };
const char* name(Stage stage);

/// Where the answer came from, cheapest first.
enum class Source : uint8_t { typed_through, cache, in_flight, engine };
const char* name(Source source);

/// What one answer cost. Times in milliseconds. prompt_tokens = reused_tokens + new_tokens.
struct Timings {
  double queue_ms = 0, prefill_ms = 0, decode_ms = 0;
  double post_ms = 0;   // stop, insertion and cache rules in front of the engine
  double ttft_ms = 0;   // from submission to the first token that adds text
  double total_ms = 0;
  int prompt_tokens = 0, reused_tokens = 0, new_tokens = 0;
  int output_tokens = 0;  // a healed token counts here and in new_tokens
  int drafted_tokens = 0, accepted_tokens = 0;
};

/// Text from elsewhere that the model should see before the current file.
struct ContextItem {
  std::string kind = "snippet";  // as the card names it: "definition", "edit history", …
  std::string path;              // shown to the model
  std::string text;              // whole lines, LF
};

/// A row of the context card: one part of the prompt and what it cost.
struct CardRow {
  std::string tier;       // "core", "extended", "background", "structure"
  std::string kind;       // "header", "prefix", "suffix", "middle", …
  std::string path;
  int first_line = 0, last_line = 0;  // 1-based; 0 where the part has none
  std::string rendition;  // "full"
  int tokens = 0, reused = 0;
};

}  // namespace foretoken::engine

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

/// How much is wanted. `decide` becomes one of the others from the text around the cursor.
enum class Mode : uint8_t { decide, word, line, block };
const char* name(Mode mode);

/// Where the answer came from, cheapest first.
enum class Source : uint8_t { typed_through, cache, in_flight, engine };
const char* name(Source source);

/// What one answer cost. Times in milliseconds. prompt_tokens = reused_tokens + new_tokens.
struct Timings {
  double queue_ms = 0, prefill_ms = 0, decode_ms = 0;
  double ttft_ms = 0;   // from submission to the first token that adds text
  double total_ms = 0;
  int prompt_tokens = 0, reused_tokens = 0, new_tokens = 0;
  int output_tokens = 0;  // a healed token counts here and in new_tokens
  int drafted_tokens = 0, accepted_tokens = 0;
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

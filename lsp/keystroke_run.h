// Plays a script of keys to a Completer as an editor would: a new text and a request at every key.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lsp/completer.h"
#include "lsp/typing_script.h"

namespace foretoken::lsp {

enum class Pace : uint8_t {
  real,  // open loop: each key at its intended time, whether or not the last one is answered
  fast,  // closed loop: the next key when the last one is answered. For counting tokens
};

/// A document as the script's texts are shown to the completer.
struct TypedDocument {
  std::string uri, path;
};

/// What became of one key. Times in milliseconds, from the intended time of the key.
struct KeyRecord {
  Phase phase = Phase::steady;
  KeyKind kind = KeyKind::character;
  bool superseded = false;   // a newer key of the document came first: no time counts
  std::string error;         // not empty: it failed
  double latency_ms = 0;     // to the whole answer
  double ttft_ms = 0;        // to the first token that adds text; 0: none did
  engine::Source source = engine::Source::engine;
  engine::Timings timings;
  bool has_text = false;
};

/// One record per key, in order. The opening requests, one per document, are not among them.
/// Blocks until every key is answered.
std::vector<KeyRecord> play(Completer& completer, const TypingScript& script,
                            const std::vector<TypedDocument>& documents, Phase phase, Pace pace);

}  // namespace foretoken::lsp

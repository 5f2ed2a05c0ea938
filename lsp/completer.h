// The life of one completion as the server and the command line see it. The implementation
// (lsp/completion) joins documents, engine, stop and insertion rules; tests may stand in a fake.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/completion.h"
#include "lsp/documents.h"

namespace foretoken::lsp {

struct CompletionQuery {
  std::shared_ptr<const Snapshot> document;
  size_t cursor = 0;                       // byte offset into document->text()
  std::string path;                        // as the prompt shows it: relative to the root
  std::vector<engine::ContextItem> context;  // for the model to see before the file
  engine::Mode mode = engine::Mode::decide;
  int max_tokens = 0;                      // 0: the mode's default
  bool reuse = true;                       // --no-cache: false
  std::optional<std::string> raw;          // taken as the model's output; no model runs
  /// Asks the engine even where the answer is known. So does whoever wants to see how it came about:
  bool from_engine = false;
  bool want_card = false, want_prompt = false, want_hashes = false;
};

struct CompletionAnswer {
  std::string text;                        // what to insert, LF line ends, valid UTF-8; "": nothing
  size_t start = 0, end = 0;               // byte range of document->text() it replaces, cursor's line
  engine::Finish finish = engine::Finish::stop;
  std::string reason;                      // why text is empty
  engine::Source source = engine::Source::engine;
  engine::Stage cancelled_at = engine::Stage::none;
  engine::Timings timings;
  std::string model, backend;
  std::vector<engine::CardRow> card;
  std::vector<uint64_t> hashes;            // of the logits at every step
  std::string prompt;                      // exact, control tokens spelt out
  std::string error;                       // not empty: the request failed, nothing else counts
};

class Completer {
 public:
  virtual ~Completer() = default;
  using Ticket = uint64_t;
  using Done = std::function<void(CompletionAnswer)>;

  /// Any thread. `done` is called exactly once per start, on the engine's thread or before start
  /// returns; it must not block. A newer start for the same document supersedes an older one, which
  /// is answered at once with Finish::cancelled.
  virtual Ticket start(CompletionQuery query, Done done) = 0;
  /// Answers at once (Finish::cancelled) unless already answered. Unknown tickets are ignored.
  virtual void cancel(Ticket ticket) = 0;
};

}  // namespace foretoken::lsp

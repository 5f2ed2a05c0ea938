// The real Completer: snapshot -> engine request -> stop and insertion rules -> answer. Editors and
// the command line meet here; from here down they share every line of code.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "engine/completion.h"
#include "lsp/completer.h"
#include "lsp/engine_link.h"
#include "lsp/log.h"
#include "lsp/options.h"

namespace foretoken::lsp {

/// Thread-safe. Answers what is known without the model; after an answer it has the engine compute,
/// in idle time, what would follow its acceptance.
class EngineCompleter : public Completer {
 public:
  EngineCompleter(std::shared_ptr<EngineLink> engine, const Options& options);

  Ticket start(CompletionQuery query, Done done) override;
  void cancel(Ticket ticket) override;

  EngineLink& engine() { return *engine_; }

 private:
  struct Shared;  // what answers that are still to come use; outlives the completer

  const std::shared_ptr<EngineLink> engine_;
  const std::shared_ptr<Shared> shared_;
};

/// Chooses and loads a model for a server (lsp/cli_lsp): slow, so not on the front thread. Throws
/// std::exception with a line for the user.
std::shared_ptr<Completer> load_completer(const Options& options, std::stop_token stop,
                                          LogLevel level = LogLevel::warn);

/// The mode a query asks for, decided from the text where it leaves that open. LF text.
engine::Mode resolve_mode(engine::Mode wanted, std::string_view text, size_t cursor);

/// A query with `raw`: that text goes through stop and insertion rules as if a model had written it.
CompletionAnswer answer_raw(const CompletionQuery& query);

/// The document once the answer is accepted, and the cursor behind it; null where there is nothing to
/// accept.
struct Accepted {
  std::shared_ptr<const Snapshot> document;
  size_t cursor = 0;
};
std::optional<Accepted> accept(const Snapshot& document, const CompletionAnswer& answer);

/// Raw model text to the answer: insertion rules, offsets in the document, valid UTF-8. Pure.
/// `from_line_start`: raw replaces the blanks between the line's start and the cursor.
void finish_answer(const Snapshot& document, size_t cursor, std::string_view raw,
                   bool from_line_start, CompletionAnswer* answer);

}  // namespace foretoken::lsp

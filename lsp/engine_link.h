// A way to an engine: the one in this process, or the one that another process of the same user owns
// (lsp/shared_engine). Everything above this line is the same for both.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/request.h"
#include "lsp/metrics.h"

namespace foretoken::lsp {

/// Thread-safe.
class EngineLink {
 public:
  virtual ~EngineLink() = default;  // every open request is answered (cancelled) before this ends

  using Ticket = uint64_t;
  /// Called exactly once per submit, on a thread of the link or inside submit/cancel; must not block.
  using Done = std::function<void(engine::Completion)>;

  virtual Ticket submit(engine::Request request, Done done) = 0;
  /// Answers at once (Finish::cancelled) unless already answered. Unknown tickets are ignored.
  virtual void cancel(Ticket ticket) = 0;
  /// A request that was answered without the model. The layout history of its document follows:
  /// layout depends on every request, never on who answered it.
  virtual void observe(engine::Request request) = 0;
  /// What an answer cost, for the engine's books. Once per answer, whoever gave it.
  virtual void account(const AnswerCost& cost) = 0;

  virtual std::string model_name() const = 0;
  virtual std::string backend_name() const = 0;
  /// The engine's status as JSON text (lsp/metrics): owner, clients, memory, hit rates, histograms.
  /// `done` is called once, with "" where the engine does not answer.
  virtual void status(std::function<void(std::string json)> done) = 0;
};

}  // namespace foretoken::lsp

// The books of one command: what its own answers cost, whoever owns the engine. Written to a file
// when the command ends.
#pragma once

#include <memory>
#include <string>

#include "lsp/engine_link.h"
#include "lsp/metrics.h"

namespace foretoken::lsp {

/// An engine and a note of every answer. Thread-safe.
class Books final : public EngineLink {
 public:
  Books(std::shared_ptr<EngineLink> engine, std::string file)
      : owned_(std::move(engine)), engine_(*owned_), file_(std::move(file)) {}
  /// Answers what is open and writes the file; a file that cannot be written is reported on stderr.
  ~Books() override;

  Ticket submit(engine::Request request, Done done) override {
    return engine_.submit(std::move(request), std::move(done));
  }
  void cancel(Ticket ticket) override { engine_.cancel(ticket); }
  void observe(engine::Request request) override { engine_.observe(std::move(request)); }
  void account(const AnswerCost& cost) override {
    metrics_.add(cost);
    engine_.account(cost);
  }
  std::string model_name() const override { return engine_.model_name(); }
  std::string backend_name() const override { return engine_.backend_name(); }
  void status(std::function<void(std::string json)> done) override { engine_.status(std::move(done)); }

 private:
  std::shared_ptr<EngineLink> owned_;
  EngineLink& engine_;  // may still be asked, by answers that come while it ends
  const std::string file_;
  Metrics metrics_;
};

/// Replaces `file` by `text`, readable by its owner alone: whole or not at all. What is no regular
/// file (a pipe, /dev/stderr) is written to. Throws std::runtime_error.
void write_whole(const std::string& file, std::string_view text);

}  // namespace foretoken::lsp

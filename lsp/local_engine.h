// The engine in this process, as a link.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "lsp/engine_link.h"

namespace foretoken::lsp {

/// Thread-safe.
class LocalEngine final : public EngineLink {
 public:
  explicit LocalEngine(std::shared_ptr<engine::Engine> engine) : engine_(std::move(engine)) {}

  ~LocalEngine() override { engine_->close(); }

  Ticket submit(engine::Request request, Done done) override;
  void cancel(Ticket ticket) override { engine_->cancel(ticket); }
  void observe(engine::Request request) override;
  void account(const AnswerCost& cost) override { metrics_.add(cost); }
  std::string model_name() const override { return engine_->runtime().name(); }
  std::string backend_name() const override { return std::string(engine_->runtime().backend().name()); }
  void status(std::function<void(std::string json)> done) override;

  const engine::Engine& engine() const { return *engine_; }

 private:
  const std::shared_ptr<engine::Engine> engine_;
  Metrics metrics_;
};

}  // namespace foretoken::lsp

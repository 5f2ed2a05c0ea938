// An engine without a model: answers at once with what it was asked, or when its gate opens.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lsp/engine_link.h"

namespace foretoken::lsp {

/// Thread-safe.
class FakeEngine final : public EngineLink {
 public:
  explicit FakeEngine(std::string name = "fake", bool gate_closed = false)
      : name_(std::move(name)), closed_(gate_closed) {}
  ~FakeEngine() override;

  Ticket submit(engine::Request request, Done done) override;
  void cancel(Ticket ticket) override;
  void observe(engine::Request request) override;
  void account(const AnswerCost& cost) override;
  std::string model_name() const override { return name_; }
  std::string backend_name() const override { return "none"; }
  void status(std::function<void(std::string json)> done) override;

  void open_gate();
  /// Waits until so many requests (answered ones count) have come; false after a long time.
  bool wait_for_requests(size_t count);
  bool wait_for_costs(size_t count);
  bool wait_until_idle();  // nothing open
  std::vector<engine::Request> requests() const;
  std::vector<engine::Request> observed() const;

  /// What it answers: which engine, which document, up to where, what.
  static std::string answer_to(const std::string& name, const engine::Request& request);

 private:
  struct Job {
    engine::Request request;
    Done done;
  };
  bool wait(const std::function<bool()>& until);

  const std::string name_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_;
  Ticket last_ = 0;
  std::map<Ticket, Job> open_;
  std::vector<engine::Request> requests_, observed_;
  size_t costs_ = 0;
};

}  // namespace foretoken::lsp

// An engine without a model: says what it is told to say, and counts how often it is asked.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lsp/engine_link.h"

namespace foretoken::lsp {

/// Thread-safe. Answers typing requests inside submit(), and idle ones when answer_idle() says so.
class FakeEngineLink final : public EngineLink {
 public:
  std::string says;                        // the raw text of every completion
  engine::Finish finish = engine::Finish::stop;
  bool holds = false;                      // keeps requests open until cancelled or release()

  Ticket submit(engine::Request request, Done done) override {
    const Ticket ticket = ++last_;
    if (request.priority == engine::Priority::idle) {
      idle.emplace_back(std::move(request), std::move(done));
      return ticket;
    }
    submitted.push_back(std::move(request));
    if (holds) {
      open.emplace_back(ticket, std::move(done));
    } else {
      done({.text = says, .finish = finish});
    }
    return ticket;
  }
  void cancel(Ticket ticket) override {
    cancelled.push_back(ticket);
    for (auto it = open.begin(); it != open.end(); ++it) {
      if (it->first != ticket) continue;
      const Done done = std::move(it->second);
      open.erase(it);
      return done({.finish = engine::Finish::cancelled, .reason = "cancelled"});
    }
  }
  void observe(engine::Request request) override { observed.push_back(std::move(request)); }
  void account(const AnswerCost& cost) override { accounts.push_back(cost); }
  std::string model_name() const override { return "fake"; }
  std::string backend_name() const override { return "none"; }
  void status(std::function<void(std::string json)> done) override { done("{}"); }

  /// The oldest idle request is computed.
  void answer_idle(std::string text) {
    auto [request, done] = std::move(idle.front());
    idle.pop_front();
    done({.text = std::move(text)});
  }

  std::vector<engine::Request> submitted, observed;
  std::deque<std::pair<engine::Request, Done>> idle;
  std::deque<std::pair<Ticket, Done>> open;
  std::vector<Ticket> cancelled;
  std::vector<AnswerCost> accounts;

 private:
  Ticket last_ = 0;
};

}  // namespace foretoken::lsp

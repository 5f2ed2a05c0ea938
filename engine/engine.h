// The engine: requests in, completions out, one thread that computes.
//
// Life of a request: submit() queues it and supersedes an unanswered one of the same document (that
// one is answered at once with Finish::cancelled). The engine thread takes requests in order, lays out
// the prompt (engine/layout, engine/prompt), computes what the cache lacks (engine/runtime) and decodes
// until a stop rule is met (engine/decode). Whatever happens, `done` is called exactly once.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "engine/layout.h"
#include "engine/request.h"
#include "engine/runtime.h"

namespace foretoken::engine {

/// Thread-safe. Owns the engine thread and, through it, the runtime.
class Engine {
 public:
  explicit Engine(std::unique_ptr<Runtime> runtime);
  ~Engine();  // answers what is open (cancelled) and joins

  using Done = std::function<void(Completion)>;  // engine thread or inside submit/cancel; must not block
  using Ticket = uint64_t;

  Ticket submit(Request request, Done done);
  void cancel(Ticket ticket);
  /// A request that was answered elsewhere: only the layout history of its document follows.
  void observe(Request request);

  const Runtime& runtime() const { return *runtime_; }  // its const members only

 private:
  struct Job;
  void work(std::stop_token stop);
  void answer(const std::shared_ptr<Job>& job, Completion completion);
  Completion compute(Job& job);
  LayoutHistory& history(const std::string& document);

  std::unique_ptr<Runtime> runtime_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::shared_ptr<Job>> queue_;                      // not yet taken
  std::unordered_map<Ticket, std::shared_ptr<Job>> open_;       // not yet answered
  Ticket next_ticket_ = 1;

  // Engine thread only.
  std::unordered_map<std::string, LayoutHistory> histories_;
  std::deque<std::string> history_order_;                       // oldest first, bounded
  std::jthread thread_;                                         // last: ends first
};

}  // namespace foretoken::engine

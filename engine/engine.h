// The engine: requests in, completions out, one thread that computes.
//
// submit() hands a request to the scheduler (engine/scheduler), which says who is computed next and
// answers what is superseded. The engine thread lays out the prompt from the document's history
// (engine/layout_history), computes what the cache lacks and decodes until a stop rule is met
// (engine/compute). While nobody types it settles documents: it computes the prompts of planned
// anchors and of finished lines, within a budget, then it rests.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

#include "engine/layout_history.h"
#include "engine/request.h"
#include "engine/runtime.h"
#include "engine/scheduler.h"

namespace foretoken::engine {

struct EngineOptions {
  /// A replay depends on nothing but its requests: idle work that changes a layout is done to its end
  /// before the next request is taken, and none is cut short by the clock.
  bool replay = false;
  /// Computing while nobody types, after each answer; then the processor rests until the next one.
  std::chrono::milliseconds idle_budget{2000};
};

/// Counts for status. A value.
struct EngineState {
  size_t open_requests = 0;
  int kv_pages = 0, kv_pages_free = 0;
  uint64_t kv_evicted_segments = 0;
  double idle_ms = 0;  // computed in all while nobody waited
};

/// Thread-safe. Owns the engine thread and, through it, the runtime.
class Engine {
 public:
  explicit Engine(std::unique_ptr<Runtime> runtime, EngineOptions options = {});
  ~Engine() { close(); }

  /// Answers what is open (cancelled), refuses what comes and ends the engine thread: no `done` is
  /// called once this returns. Not from the engine thread.
  void close();

  using Done = Scheduler::Done;  // engine thread or inside submit/cancel; must not block
  using Ticket = Scheduler::Ticket;

  Ticket submit(Request request, Done done) { return scheduler_.submit(std::move(request), std::move(done)); }
  void cancel(Ticket ticket) { scheduler_.cancel(ticket); }
  /// A request that was answered elsewhere: only the layout history of its document follows.
  void observe(Request request) { scheduler_.observe(std::move(request)); }

  const Runtime& runtime() const { return *runtime_; }  // its const members only
  EngineState state() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Document {
    LayoutHistory layouts;
    std::string path;
    bool reuse = true, settled = true;
  };

  void work(std::stop_token stop);
  void run(const std::shared_ptr<Scheduler::Run>& run);
  Document& document(const std::string& name);
  const Layout& place(const Request& request);
  LayoutLimits limits(bool usual) const;
  bool settle_due() const;
  void settle(const std::string& name, std::stop_token stop, bool limited);
  bool compute_idly(const std::vector<TokenId>& ids, std::stop_token stop, bool limited);
  void publish();

  const std::unique_ptr<Runtime> runtime_;
  const EngineOptions options_;
  Scheduler scheduler_;
  std::atomic<int> kv_pages_free_ = 0;
  std::atomic<uint64_t> kv_evicted_ = 0;
  std::atomic<double> idle_ms_ = 0;

  // Engine thread only.
  std::unordered_map<std::string, Document> documents_;
  std::deque<std::string> order_;        // used longest ago first, bounded
  std::deque<std::string> unsettled_;    // the one used last first
  double idle_left_ms_ = 0;
  std::jthread thread_;                  // last: ends first
};

}  // namespace foretoken::engine

// The engine: requests in, completions out, one thread that computes.
//
// Life of a request: submit() queues it and supersedes an unanswered one of the same document (that
// one is answered at once with Finish::cancelled). The engine thread takes requests in order, lays out
// the prompt (engine/layout, engine/prompt), computes what the cache lacks (engine/runtime) and decodes
// until a stop rule is met (engine/decode). Whatever happens, `done` is called exactly once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "engine/completion.h"
#include "engine/layout.h"
#include "engine/runtime.h"
#include "engine/stop.h"

namespace foretoken::engine {

struct Request {
  std::string document;                      // key of its layout history and of superseding
  std::string path;                          // shown to the model; may be empty
  std::shared_ptr<const std::string> text;   // LF line ends
  size_t cursor = 0;                         // byte offset, <= text->size()
  Mode mode = Mode::line;                    // not `decide`
  int max_tokens = 64;
  bool reuse = true;                         // false: compute everything anew, leave nothing
  bool healing = true;
  bool usual_layout = false;                 // also: no healing
  bool want_card = false, want_prompt = false;
};

struct Completion {
  std::string text;            // as the model wrote it, cut where the stop rules say; whole characters
  bool from_line_start = false;// text replaces the typed indentation (asked from column 0)
  Finish finish = Finish::stop;
  StopReason stop_reason = StopReason::none;
  std::string reason;          // why text is empty, where the engine knows
  std::string error;           // not empty: the request failed; what and what to do
  Timings timings;
  std::vector<CardRow> card;
  std::string prompt;
  double logprob = 0;          // sum over the tokens that add text
};

/// Thread-safe. Owns the engine thread and, through it, the runtime.
class Engine {
 public:
  explicit Engine(std::unique_ptr<Runtime> runtime);
  ~Engine();  // answers what is open (cancelled) and joins

  using Done = std::function<void(Completion)>;  // engine thread or inside submit/cancel; must not block
  using Ticket = uint64_t;

  Ticket submit(Request request, Done done);
  void cancel(Ticket ticket);

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

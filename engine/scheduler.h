// Who is computed next, and who is answered by what is being computed.
//
//   - Typing goes before idle work, idle work before scripts; a run stops for what goes before it and
//     is taken up again later. Within a class, first come first served.
//   - The newest request of a document wins: an older one is answered at once (Finish::cancelled).
//   - What was being computed for the older one goes on while its output agrees with what has been
//     typed since, and then answers the newer one (Source::in_flight). Where it disagrees it stops, and
//     the newer one is computed. A cancelled request's run goes on too, until something else waits.
// Whatever happens, a request's `done` is called exactly once.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/request.h"

namespace foretoken::engine {

/// How a newer request of a document differs from an older one.
struct TypedSince {
  std::string typed;  // at the older one's cursor
  size_t closed = 0;  // bytes the editor added right of it by itself
};

/// Nullopt where the texts differ by more, or the requests want different things.
std::optional<TypedSince> typed_since(const Request& older, const Request& newer);

/// Thread-safe where said; the rest on the engine thread.
class Scheduler {
 public:
  using Clock = std::chrono::steady_clock;
  using Done = std::function<void(Completion)>;
  using Ticket = uint64_t;

  /// A request that waits for its answer.
  struct Job {
    Ticket ticket = 0;
    Request request;
    Done done;
    Clock::time_point submitted = Clock::now();
    TypedSince since;  // the run that is to answer it was begun
  };

  /// A computation in progress.
  struct Run {
    Request request;       // what is computed
    Clock::time_point submitted = Clock::now();
    std::stop_source stop;
    std::atomic<Stage> stage = Stage::prefill;
    bool settle = false;   // idle work of the engine itself; nobody waits
   private:
    friend class Scheduler;
    // Under the scheduler's mutex:
    Ticket begun_for = 0;
    std::shared_ptr<Job> waiting;  // null: nobody, at the moment
    std::string indentation;       // the text begins with this, typed already
    std::string text;              // output so far
  };

  // Any thread.
  Ticket submit(Request request, Done done);
  void cancel(Ticket ticket);
  void observe(Request request);
  size_t waiting() const;
  /// Answers all that wait and stops what runs.
  void close();

  // Engine thread.
  struct Next {
    std::vector<Request> seen;  // answered elsewhere since; their layouts are to follow
    std::shared_ptr<Run> run;   // null: nothing but `seen`
  };
  /// Waits for work. `settle_due`: the engine has idle work of its own. Nullopt: the end.
  std::optional<Next> next(std::stop_token stop, bool settle_due);
  /// The run's text replaces the typed `indentation`.
  void from_line_start(Run& run, std::string indentation);
  /// Its output so far. False: nobody wants the rest.
  bool wants(Run& run, std::string_view text);
  void finish(const std::shared_ptr<Run>& run, Completion completion);
  /// Not computed: who asked for it is answered (cancelled); who took it over meanwhile is computed.
  void give_up(const std::shared_ptr<Run>& run, const char* reason);

 private:
  struct Answer {
    std::shared_ptr<Job> job;
    Completion completion;
  };
  struct Finished {  // a run that ended with nobody waiting
    Request request;
    std::string indentation;
    Completion completion;
  };

  std::deque<std::shared_ptr<Job>>& queue_of(Priority priority) { return queues_[size_t(priority)]; }
  bool queued() const;
  int rank_of_running() const;
  void stop_for(Priority priority);
  static void hand_over(Completion* completion, const Job& job);
  bool take_over(const std::shared_ptr<Job>& job, std::vector<Answer>* answers);
  void requeue(std::shared_ptr<Job> job);
  void deliver(std::vector<Answer> answers);

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::shared_ptr<Job>> queues_[3];
  std::unordered_map<Ticket, std::shared_ptr<Job>> open_;  // not yet answered
  std::deque<Request> seen_;
  std::shared_ptr<Run> running_;
  std::optional<Finished> finished_;
  Ticket next_ticket_ = 1;
  bool closed_ = false;
};

}  // namespace foretoken::engine

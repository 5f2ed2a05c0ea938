// A Completer without a model: fixed text, and a gate so that a test decides when answers come.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lsp/completer.h"

namespace foretoken::lsp {

/// Thread-safe. Keeps a Completer's word: one answer per start, the newest start of a document
/// supersedes the older one, a cancelled one is answered at once.
class FakeCompleter : public Completer {
 public:
  enum class When : uint8_t {
    at_once,   // before start() returns
    on_thread  // on a thread of its own, as an engine does
  };
  explicit FakeCompleter(std::string text = "completed", When when = When::at_once);
  ~FakeCompleter() override;

  Ticket start(CompletionQuery query, Done done) override;
  void cancel(Ticket ticket) override;

  /// From now on starts wait. open_gate() answers those that wait, oldest first, and stops waiting.
  void close_gate();
  void open_gate();
  /// Replaces what is answered; start and end are taken as distances from the cursor.
  void answer_with(CompletionAnswer answer);

  size_t running() const;
  std::vector<Ticket> cancelled() const;
  std::vector<CompletionQuery> queries() const;  // the last 100
  uint64_t started() const;

 private:
  struct Job {
    CompletionQuery query;
    Done done;
  };
  CompletionAnswer answer_to(const CompletionQuery& query) const;
  std::optional<Job> take(Ticket ticket);
  void deliver(Done done, CompletionAnswer answer);
  void work(std::stop_token stop);

  mutable std::mutex mutex_;
  std::condition_variable_any filled_;
  CompletionAnswer answer_;
  bool gate_closed_ = false;
  Ticket last_ = 0;
  std::map<Ticket, Job> running_;
  std::vector<Ticket> cancelled_;
  std::deque<CompletionQuery> queries_;
  std::deque<std::pair<Done, CompletionAnswer>> to_deliver_;
  std::optional<std::jthread> thread_;
};

}  // namespace foretoken::lsp

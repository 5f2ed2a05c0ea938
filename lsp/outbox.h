// What waits to be written to the client. Bounded by bytes, with a policy for a client that does
// not read, mildest first:
//   1. an answer that a newer one about the same thing makes obsolete shrinks to its small form;
//   2. past `drop_above`, notifications that only inform (log, progress) are dropped;
//   3. past `stop_above`, reading from the client pauses until it has read enough.
// Answers are never lost while the client reads, and the order of messages never changes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace foretoken::lsp {

struct Outgoing {
  std::string body;
  bool droppable = false;
  std::string topic;  // not empty: a later message on this topic makes this one obsolete…
  std::string small;  // …and this is what then remains of it
};

/// Where the server's messages go. Front thread.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void send(Outgoing message) = 0;
};

struct OutboxLimits {
  size_t drop_above = 1u << 20;
  size_t stop_above = 8u << 20;
  size_t resume_below = 4u << 20;
};

/// Thread-safe: the front thread pushes, the writer takes, the reader asks whether it may go on.
class Outbox {
 public:
  explicit Outbox(OutboxLimits limits = {}) : limits_(limits) {}

  void push(Outgoing message);
  /// Waits for a message. Empty after close(), once nothing is left.
  std::optional<std::string> take();
  /// Waits while the client is too far behind. False after close().
  bool wait_for_room();
  /// No more pushes; take() hands out what is left.
  void close();
  /// Forget what is left: the client cannot be reached.
  void discard();

  size_t bytes() const;    // waiting, bookkeeping included
  size_t dropped() const;  // notifications dropped so far
  size_t shrunk() const;   // answers that became obsolete while waiting

 private:
  struct Entry {
    Outgoing message;
    uint64_t number;
  };
  static size_t cost(const Outgoing& message);

  const OutboxLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable filled_, emptied_;
  std::deque<Entry> waiting_;
  std::unordered_map<std::string, uint64_t> newest_;  // topic -> number of its waiting message
  uint64_t next_number_ = 0;
  size_t bytes_ = 0, dropped_ = 0, shrunk_ = 0;
  bool closed_ = false, full_ = false;
};

}  // namespace foretoken::lsp

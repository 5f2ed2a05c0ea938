// The front thread's event loop: work posted from any thread, and timers. An interface, so that
// tests run the server on a clock of their own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace foretoken::lsp {

/// Thread-safe where said; the rest on the front thread, which is whoever calls run().
class Loop {
 public:
  using Work = std::function<void()>;
  using TimerId = uint64_t;

  virtual ~Loop() = default;
  /// Any thread. Runs `work` on the front thread, in the order posted.
  virtual void post(Work work) = 0;
  /// Front thread. Runs `work` once after `delay`, unless cancelled before.
  virtual TimerId after(std::chrono::milliseconds delay, Work work) = 0;
  virtual void cancel(TimerId timer) = 0;
};

/// A loop on the machine's clock.
class RunningLoop : public Loop {
 public:
  virtual void run() = 0;   // until stop(); the calling thread becomes the front thread
  virtual void stop() = 0;  // any thread
};
std::shared_ptr<RunningLoop> make_loop();

}  // namespace foretoken::lsp

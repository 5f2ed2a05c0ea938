// Frames over file descriptors: stdin and stdout today, a socket's one descriptor tomorrow.
//
// Two threads beside the front: the reader cuts frames and posts their bodies to the front thread,
// the writer drains the outbox. The reader never waits for the writer unless the client is so far
// behind that the outbox is full, nor for the front unless it is kInboxBytes behind.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "lsp/fd.h"
#include "lsp/framing.h"
#include "lsp/loop.h"
#include "lsp/outbox.h"

namespace foretoken::lsp {

/// The client's end of the program's stdin and stdout, taken out of everybody else's reach: from
/// now on descriptor 1 is stderr and descriptor 0 reads nothing, so a library that prints cannot
/// break the protocol. `error` is not empty where the program has no stdin or stdout.
struct ClientStdio {
  Fd in, out;
  std::string error;
};
ClientStdio take_stdio();

/// The fault of a stream that ended where a message had begun.
inline constexpr char kCutShort[] = "the client's stream ended inside a message";

/// What arrives, on the front thread.
struct Arrivals {
  std::function<void(std::string body)> message;
  std::function<void(std::string reason)> refused;  // a frame was passed over
  /// The last one, at the end of the stream. `fault` is empty at a plain end; after a fault nothing
  /// more is read.
  std::function<void(std::string fault)> ended;
};

/// Front thread, but for its own two.
class FdTransport final : public Sink {
 public:
  /// `out` may be invalid (-1): then `in` is written to as well.
  FdTransport(Fd in, Fd out, FrameLimits frames = {}, OutboxLimits outbox = {});
  ~FdTransport() override;  // close(0)

  void start(std::shared_ptr<Loop> loop, Arrivals arrivals);
  void send(Outgoing message) override;
  /// Stops reading; writes what waits for at most `patience`; ends both threads.
  void close(std::chrono::milliseconds patience);

  const Outbox& outbox() const { return outbox_; }

 private:
  static constexpr size_t kInboxBytes = 1u << 20;

  void read_loop();
  void write_loop();
  bool wait_readable();
  bool wait_writable();
  bool write_all(std::string_view bytes);
  bool post_frame(Frame frame);
  void post_end(std::string fault);

  Fd in_, out_, wake_;
  bool out_is_socket_ = false;
  const FrameLimits frame_limits_;
  Outbox outbox_;
  std::shared_ptr<Loop> loop_;
  std::shared_ptr<Arrivals> arrivals_;  // what is posted may outlive the transport

  struct Inbox {  // bytes posted and not yet handled
    std::mutex mutex;
    std::condition_variable handled;
    size_t bytes = 0;
    bool closed = false;
  };
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::atomic<bool> stopping_ = false;
  std::atomic<int64_t> write_deadline_ns_ = INT64_MAX;
  std::thread reader_, writer_;
};

}  // namespace foretoken::lsp

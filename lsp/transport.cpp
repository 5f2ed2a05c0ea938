#include "lsp/transport.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace foretoken::lsp {
namespace {

using Clock = std::chrono::steady_clock;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

ClientStdio take_stdio() {
  ClientStdio stdio;
  stdio.in = Fd(::fcntl(0, F_DUPFD_CLOEXEC, 3));
  stdio.out = Fd(::fcntl(1, F_DUPFD_CLOEXEC, 3));
  if (stdio.in.get() < 0)
    stdio.error = "stdin is closed; a language server reads its client from there";
  if (stdio.out.get() < 0)
    stdio.error = "stdout is closed; a language server answers its client there";
  if (!stdio.error.empty()) return stdio;
  const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(nothing.get(), 0);
  if (::dup2(2, 1) < 0) ::dup2(nothing.get(), 1);
  return stdio;
}

FdTransport::FdTransport(Fd in, Fd out, FrameLimits frames, OutboxLimits outbox)
    : in_(std::move(in)),
      out_(std::move(out)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      frame_limits_(frames),
      outbox_(outbox) {
  if (out_.get() < 0) out_ = Fd(::fcntl(in_.get(), F_DUPFD_CLOEXEC, 3));
  struct stat info {};
  out_is_socket_ = ::fstat(out_.get(), &info) == 0 && S_ISSOCK(info.st_mode);
}

FdTransport::~FdTransport() {
  close(std::chrono::milliseconds(0));
}

void FdTransport::start(std::shared_ptr<Loop> loop, Arrivals arrivals) {
  loop_ = std::move(loop);
  arrivals_ = std::make_shared<Arrivals>(std::move(arrivals));
  reader_ = std::thread([this] { read_loop(); });
  writer_ = std::thread([this] { write_loop(); });
}

void FdTransport::send(Outgoing message) {
  outbox_.push(std::move(message));
}

void FdTransport::close(std::chrono::milliseconds patience) {
  write_deadline_ns_ = now_ns() + std::chrono::nanoseconds(patience).count();
  stopping_ = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = ::write(wake_.get(), &one, sizeof one);
  {
    std::lock_guard lock(inbox_->mutex);
    inbox_->closed = true;
    inbox_->handled.notify_all();
  }
  outbox_.close();
  if (reader_.joinable()) reader_.join();
  if (writer_.joinable()) writer_.join();
}

void FdTransport::read_loop() {
  FrameReader frames(frame_limits_);
  std::vector<char> buffer(64u << 10);
  std::string fault;
  bool open = true;
  while (open && wait_readable()) {
    const ssize_t got = ::read(in_.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) {
      if (!frames.between_frames()) fault = kCutShort;
      break;
    }
    open = frames.feed({buffer.data(), static_cast<size_t>(got)}, [&](Frame frame) {
      if (frame.kind == Frame::Kind::fatal) {
        fault = std::move(frame.text);
      } else {
        post_frame(std::move(frame));
      }
    });
  }
  post_end(std::move(fault));
}

/// False once the transport is closing.
bool FdTransport::wait_readable() {
  while (!stopping_) {
    if (!outbox_.wait_for_room()) return false;
    std::array<pollfd, 2> fds = {pollfd{in_.get(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0}};
    const int ready = ::poll(fds.data(), fds.size(), -1);
    if (ready < 0 && errno != EINTR) return true;  // read() will say
    if (ready > 0 && fds[1].revents == 0) return true;
  }
  return false;
}

bool FdTransport::post_frame(Frame frame) {
  if (!outbox_.wait_for_room()) return false;
  const size_t size = frame.text.size() + 256;
  {
    std::unique_lock lock(inbox_->mutex);
    inbox_->handled.wait(lock, [&] { return inbox_->closed || inbox_->bytes <= kInboxBytes; });
    if (inbox_->closed) return false;
    inbox_->bytes += size;
  }
  loop_->post([inbox = inbox_, arrivals = arrivals_, size, frame = std::move(frame)]() mutable {
    const auto& handler =
        frame.kind == Frame::Kind::message ? arrivals->message : arrivals->refused;
    handler(std::move(frame.text));
    std::lock_guard lock(inbox->mutex);
    inbox->bytes -= size;
    inbox->handled.notify_all();
  });
  return true;
}

void FdTransport::post_end(std::string fault) {
  if (stopping_) return;
  loop_->post([arrivals = arrivals_, fault = std::move(fault)] { arrivals->ended(fault); });
}

void FdTransport::write_loop() {
  while (const std::optional<std::string> body = outbox_.take()) {
    if (write_all(frame_header(body->size()) + *body)) continue;
    outbox_.close();
    outbox_.discard();
    post_end({});
    return;
  }
}

/// Waits until a small write would not block; false after the deadline of close().
bool FdTransport::wait_writable() {
  while (true) {
    const bool closing = stopping_;  // first: close() sets the deadline before it
    const int64_t left_ms = (write_deadline_ns_ - now_ns()) / 1'000'000;
    if (closing && left_ms <= 0) return false;
    // While open, wake_ ends the wait when close() sets a deadline; after that it would spin.
    std::array<pollfd, 2> fds = {pollfd{out_.get(), POLLOUT, 0}, pollfd{wake_.get(), POLLIN, 0}};
    const int ready = ::poll(fds.data(), closing ? 1 : 2,
                             closing ? static_cast<int>(std::min<int64_t>(left_ms, 10'000)) : -1);
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0 && fds[0].revents != 0) return true;
  }
}

bool FdTransport::write_all(std::string_view bytes) {
  // The descriptor may block: others share it. A pipe that polls writable takes PIPE_BUF bytes at
  // once; a socket is told not to wait.
  constexpr size_t kChunk = 4096;
  while (!bytes.empty()) {
    if (!wait_writable()) return false;
    const std::string_view part = bytes.substr(0, kChunk);
    const ssize_t sent =
        out_is_socket_ ? ::send(out_.get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                       : ::write(out_.get(), part.data(), part.size());
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace foretoken::lsp

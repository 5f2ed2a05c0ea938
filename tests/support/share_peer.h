// The other end of a shared engine's socket, in the hands of a test: bytes or messages, good or bad.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "lsp/fd.h"
#include "lsp/framing.h"
#include "lsp/share_messages.h"

namespace foretoken::lsp {

/// Belongs to one thread. Patience only keeps a broken program from hanging a test.
class SharePeer {
 public:
  static constexpr int kPatienceMs = 30'000;

  explicit SharePeer(Fd socket) : socket_(std::move(socket)) {}

  /// Writes all, or what is taken at once without `patience`; false where the other end has closed.
  bool write(std::string_view bytes, int patience = kPatienceMs) {
    while (!bytes.empty()) {
      pollfd ready{socket_.get(), POLLOUT, 0};
      if (::poll(&ready, 1, patience) != 1) break;
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    full_ = !bytes.empty();
    return true;
  }
  bool full() const { return full_; }  // the last write found no room
  void send(const share::Message& message) {
    const std::string body = share::encode(message);
    write(frame_header(body.size()) + body);
  }
  void greet(const std::string& version = "1") { send(share::Hello{share::kProtocol, version, 1, "test"}); }

  /// The next message; nothing at the end.
  std::optional<share::Message> receive() {
    while (messages_.empty()) {
      pollfd ready{socket_.get(), POLLIN, 0};
      if (::poll(&ready, 1, kPatienceMs) != 1) return std::nullopt;
      std::array<char, 65536> buffer{};
      const ssize_t got = ::read(socket_.get(), buffer.data(), buffer.size());
      if (got <= 0) return std::nullopt;
      reader_.feed({buffer.data(), static_cast<size_t>(got)}, [&](Frame frame) {
        auto decoded = share::decode(frame.text);
        if (auto* message = std::get_if<share::Message>(&decoded)) messages_.push_back(*message);
      });
    }
    share::Message first = std::move(messages_.front());
    messages_.pop_front();
    return first;
  }
  /// The next message of this kind, others passed over.
  template <class T>
  std::optional<T> receive_a() {
    while (auto message = receive()) {
      if (T* wanted = std::get_if<T>(&*message)) return std::move(*wanted);
    }
    return std::nullopt;
  }
  /// True once the other end has closed; what it says before is passed over.
  bool closed() {
    pollfd ready{socket_.get(), POLLIN, 0};
    while (receive()) {}
    return ::poll(&ready, 1, 0) == 1;
  }

 private:
  Fd socket_;
  FrameReader reader_;
  std::deque<share::Message> messages_;
  bool full_ = false;
};

}  // namespace foretoken::lsp

// A file descriptor that closes itself.
#pragma once

#include <utility>

namespace foretoken::lsp {

/// An open file descriptor, closed with the object. Movable. Belongs to one thread.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace foretoken::lsp

#include "lsp/fd.h"

#include <unistd.h>

namespace foretoken::lsp {

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace foretoken::lsp

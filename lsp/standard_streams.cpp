#include "lsp/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>

#include "engine/error.h"

namespace foretoken::lsp {

void hold_standard_streams() {
  for (const int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one. Opened the wrong way round: use fails, as on a closed one.
    const int got = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    if (got >= 0 && got != fd) ::close(got);
  }
}

void require_stdin() {
  const int flags = ::fcntl(STDIN_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY) {
    throw std::runtime_error("stdin is closed; give the input there");
  }
}

void report(std::string_view what) {
  constexpr size_t kLine = 4096;
  std::cerr << "foretoken: " + engine::printable(what, kLine) + "\n";
}

bool flush_stdout() {
  errno = 0;
  const bool stream = bool(std::cout.flush());
  const bool file = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (stream && file) return true;
  const int fault = errno;
  report(std::string("stdout: ") + (fault ? std::strerror(fault) : "could not be written"));
  return false;
}

}  // namespace foretoken::lsp

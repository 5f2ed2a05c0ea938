#include "lsp/books.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "lsp/fd.h"
#include "lsp/standard_streams.h"

namespace foretoken::lsp {
namespace {

[[noreturn]] void fail(const std::string& file) {
  throw std::runtime_error("cannot write " + file + ": " + std::strerror(errno));
}

void write_all(const Fd& fd, std::string_view text, const std::string& file) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd.get(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail(file);
    text.remove_prefix(static_cast<size_t>(put));
  }
}

}  // namespace

void write_whole(const std::string& file, std::string_view text) {
  struct stat info{};
  if (::stat(file.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd) fail(file);
    return write_all(fd, text, file);
  }
  std::string draft = file + ".XXXXXX";
  const Fd fd(::mkostemp(draft.data(), O_CLOEXEC));  // mode 0600
  if (!fd) fail(file);
  try {
    write_all(fd, text, file);
    if (::rename(draft.c_str(), file.c_str()) != 0) fail(file);
  } catch (...) {
    ::unlink(draft.c_str());
    throw;
  }
}

Books::~Books() {
  owned_.reset();
  try {
    write_whole(file_, metrics_.json().dump() + "\n");
  } catch (const std::exception& error) {
    report(error.what());
  }
}

}  // namespace foretoken::lsp

#include "lsp/private_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "lsp/paths.h"

namespace foretoken::lsp {
namespace fs = std::filesystem;
namespace {

std::string remedy(int error, const std::string& variable) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; free some room, or set " + variable + " to a folder on another disk";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; make it writable, or set " + variable + " to a folder that is";
    default:
      return "";
  }
}

[[noreturn]] void fail_on(const std::string& doing, const fs::path& path, int error,
                          const char* variable) {
  throw std::runtime_error("cannot " + doing + " " + short_path(path) + ": " +
                           std::strerror(error) + remedy(error, variable));
}

void make_with_parents(const fs::path& path, const char* variable) {
  std::error_code error;
  if (fs::exists(path, error)) return;
  if (path.has_parent_path() && path.parent_path() != path) make_with_parents(path.parent_path(), variable);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    fail_on("make the folder", path, errno, variable);
  }
}

}  // namespace

PrivateFolder::PrivateFolder(const fs::path& path, const char* variable)
    : path_(path), variable_(variable) {
  if (path.has_parent_path()) make_with_parents(path.parent_path(), variable);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    fail_on("make the folder", path, errno, variable);
  }
  fd_ = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd_ && (errno == ELOOP || errno == ENOTDIR)) {
    throw std::runtime_error(short_path(path) +
                             " is a symbolic link or no folder; remove it, or set " + variable +
                             " to a folder of your own");
  }
  if (!fd_) fail_on("open the folder", path, errno, variable);
  struct stat info{};
  if (fstat(fd_.get(), &info) != 0) fail_on("look at", path, errno, variable);
  if (info.st_uid != geteuid()) {
    throw std::runtime_error(short_path(path) +
                             " belongs to another user; remove it, or set " + variable +
                             " to a folder of your own");
  }
  if ((info.st_mode & 0777) != 0700 && fchmod(fd_.get(), 0700) != 0) {
    fail_on("make private", path, errno, variable);
  }
}

void PrivateFolder::fail(const std::string& doing, const std::string& name, int error) const {
  fail_on(doing, path_ / name, error, variable_);
}

Fd PrivateFolder::open(const std::string& name, int flags) const {
  Fd fd(openat(fd_.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) fail("open", name, errno);
  if ((flags & O_CREAT) && fchmod(fd.get(), 0600) != 0) fail("make private", name, errno);
  return fd;
}

bool PrivateFolder::exists(const std::string& name) const {
  struct stat info{};
  return fstatat(fd_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

std::optional<std::string> PrivateFolder::read_small(const std::string& name) const {
  if (!exists(name)) return std::nullopt;
  const Fd fd = open(name, O_RDONLY);
  std::string text(64 << 10, '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got < 0) fail("read", name, errno);
  text.resize(size_t(got));
  return text;
}

void PrivateFolder::write_small(const std::string& name, const std::string& text) const {
  const std::string draft = name + ".new";
  {
    const Fd fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC);
    try {
      write_all(fd, name, text);
      sync(fd, name);
    } catch (...) {
      remove(draft);
      throw;
    }
  }
  rename(draft, name);
}

void PrivateFolder::write_all(const Fd& fd, const std::string& name, std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write", name, errno);
    bytes.remove_prefix(size_t(put));
  }
}

void PrivateFolder::sync(const Fd& fd, const std::string& name) const {
  if (fsync(fd.get()) != 0) fail("write", name, errno);
}

void PrivateFolder::rename(const std::string& from, const std::string& to) const {
  if (renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) != 0) fail("rename", from, errno);
  fsync(fd_.get());
}

void PrivateFolder::remove(const std::string& name) const {
  unlinkat(fd_.get(), name.c_str(), 0);
}

uint64_t PrivateFolder::free_bytes() const {
  struct statvfs info{};
  if (fstatvfs(fd_.get(), &info) != 0) fail("look at", ".", errno);
  return uint64_t(info.f_bavail) * info.f_frsize;
}

}  // namespace foretoken::lsp

// Folders and files that only their owner may read or write, whatever the umask is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "lsp/fd.h"

namespace foretoken::lsp {

/// A folder of mode 0700 that belongs to this user and is no symbolic link; names below are plain
/// file names, looked up from the open folder, so that swapping the path later changes nothing.
/// Files are made with mode 0600 and symbolic links among them are not followed. Front thread.
/// Every function throws std::runtime_error with one line that names the path and the remedy.
class PrivateFolder {
 public:
  /// Makes `path` (and its parents) where it is missing; takes group and others' rights away where
  /// it has them; refuses a link or another user's folder.
  /// `variable`: the environment variable that puts the folder elsewhere, for the remedy.
  explicit PrivateFolder(const std::filesystem::path& path,
                         const char* variable = "XDG_CACHE_HOME");

  const std::filesystem::path& path() const { return path_; }
  int fd() const { return fd_.get(); }

  Fd open(const std::string& name, int flags) const;  // O_CREAT means mode 0600
  bool exists(const std::string& name) const;
  std::optional<std::string> read_small(
      const std::string& name) const;  // <= 64 KiB; absent: nullopt
  void write_small(const std::string& name, const std::string& text) const;  // lands by rename
  void write_all(const Fd& fd, const std::string& name, std::string_view bytes) const;
  void sync(const Fd& fd, const std::string& name) const;
  void rename(const std::string& from, const std::string& to) const;  // durable
  void remove(const std::string& name) const;                         // missing: no error
  uint64_t free_bytes() const;

  [[noreturn]] void fail(const std::string& doing, const std::string& name, int error) const;

 private:
  std::filesystem::path path_;
  const char* variable_;
  Fd fd_;
};

}  // namespace foretoken::lsp

#include "lsp/workspace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "lsp/documents.h"
#include "lsp/fd.h"
#include "lsp/text.h"

namespace foretoken::lsp {
namespace {

std::string canonical_path(const std::string& uri) {
  const std::string path = path_of_uri(uri);
  if (path.empty()) return "";
  std::error_code error;
  const auto canonical = std::filesystem::weakly_canonical(path, error);
  std::string out = error ? path : canonical.string();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

/// The part of `path` below `root`; nothing where it is not below it.
std::optional<std::string_view> below(std::string_view path, std::string_view root) {
  if (root == "/") return path.substr(std::min<size_t>(1, path.size()));
  if (path.size() <= root.size() + 1 || !path.starts_with(root) || path[root.size()] != '/')
    return std::nullopt;
  return path.substr(root.size() + 1);
}

std::optional<std::string> read_all(int fd, size_t most) {
  std::string text;
  char buffer[64u << 10];
  while (text.size() <= most) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
  return std::nullopt;
}

}  // namespace

void Workspace::set(const std::vector<std::string>& folder_uris) {
  roots_.clear();
  add(folder_uris);
}

void Workspace::add(const std::vector<std::string>& folder_uris) {
  for (const std::string& uri : folder_uris) {
    std::string path = canonical_path(uri);
    if (!path.empty() && std::find(roots_.begin(), roots_.end(), path) == roots_.end()) {
      roots_.push_back(std::move(path));
    }
  }
}

void Workspace::remove(const std::vector<std::string>& folder_uris) {
  for (const std::string& uri : folder_uris) std::erase(roots_, canonical_path(uri));
}

std::string Workspace::shown_path(const std::string& uri) const {
  const std::string path = path_of_uri(uri);
  std::string_view best;
  for (const std::string& root : roots_) {
    const auto rest = below(path, root);
    if (rest && (best.empty() || rest->size() < best.size())) best = *rest;  // the innermost root
  }
  if (!best.empty()) return std::string(best);
  const std::string_view whole = path.empty() ? std::string_view(uri) : std::string_view(path);
  return std::string(whole.substr(whole.find_last_of("/:") + 1));
}

std::optional<std::string> Workspace::read_file(const std::string& uri) const {
  const std::string path = path_of_uri(uri);
  if (path.empty() || path.find('\0') != std::string::npos) return std::nullopt;
  // O_PATH opens nothing: it only pins the file that is then judged.
  const Fd pinned(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info {};
  if (pinned.get() < 0 || ::fstat(pinned.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return std::nullopt;
  if (static_cast<uint64_t>(info.st_size) > kMostFileBytes) return std::nullopt;

  const std::string self = "/proc/self/fd/" + std::to_string(pinned.get());
  std::error_code error;
  const std::string real = std::filesystem::read_symlink(self, error).string();
  if (error) return std::nullopt;
  const bool inside = std::any_of(roots_.begin(), roots_.end(), [&](const std::string& root) {
    return below(real, root).has_value();
  });
  if (!inside) return std::nullopt;

  const Fd file(::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return std::nullopt;
  auto text = read_all(file.get(), kMostFileBytes);
  return text && is_valid_utf8(*text) ? std::move(text) : std::nullopt;
}

}  // namespace foretoken::lsp

#include "lsp/share_place.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "lsp/paths.h"
#include "lsp/sha256.h"

namespace foretoken::lsp {
namespace fs = std::filesystem;
namespace {

constexpr int kBacklog = 64;

/// "DEVICE INODE SIZE TIME" of the file: another file at the same path is another engine.
std::string file_identity(const fs::path& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return "none";
  std::string text;
  for (const auto part : {uint64_t(info.st_dev), uint64_t(info.st_ino), uint64_t(info.st_size),
                          uint64_t(info.st_mtim.tv_sec), uint64_t(info.st_mtim.tv_nsec)}) {
    text += std::to_string(part) + " ";
  }
  return text;
}

Fd new_socket() {
  return Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

sockaddr_un address_of(const PrivateFolder& folder, const std::string& key) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "/proc/self/fd/" + std::to_string(folder.fd()) + "/" + key + ".sock";
  if (name.size() >= sizeof address.sun_path) throw std::runtime_error(name + ": too long a name");
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  return address;
}

/// A folder of ours in another user's (XDG_RUNTIME_DIR kept through sudo) would lock that user out.
void check_parent(const fs::path& folder, uid_t user) {
  struct stat info{};
  if (::stat(folder.parent_path().c_str(), &info) != 0) return;  // PrivateFolder makes it or says why not
  if (info.st_uid == user || info.st_uid == 0) return;
  throw std::runtime_error(short_path(folder.parent_path()) +
                           " belongs to another user; set XDG_RUNTIME_DIR to a folder of your own");
}

std::shared_ptr<const PrivateFolder> open_folder(const fs::path& folder, uid_t user) {
  check_parent(folder, user);
  return std::make_shared<PrivateFolder>(folder, "XDG_RUNTIME_DIR");
}

}  // namespace

std::string engine_key(const EngineIdentity& identity) {
  std::error_code error;
  fs::path model = fs::canonical(identity.model, error);
  if (error) model = identity.model;
  std::string text = model.string() + '\0' + file_identity(model) + '\0' +
                     file_identity(identity.program) + '\0' + identity.version + '\0' +
                     identity.backend + '\0';
  for (const auto part : {uint64_t(identity.threads), uint64_t(identity.window_tokens),
                          uint64_t(identity.longest_output), identity.kv_bytes}) {
    text += std::to_string(part) + '\0';
  }
  Sha256 sum;
  sum.add(text);
  return sum.hex().substr(0, 16);
}

Ownership::~Ownership() {
  folder_->remove(key_ + ".sock");  // before the lock is free: later it could be the successor's
}

Fd Ownership::listen() const {
  folder_->remove(key_ + ".sock");  // a dead owner's: the lock is ours
  Fd socket = new_socket();
  const sockaddr_un address = address_of(*folder_, key_);
  if (!socket || ::fchmod(socket.get(), 0600) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    folder_->fail("listen on", key_ + ".sock", errno);
  }
  return socket;
}

std::optional<Peer> peer_of(const Fd& socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return {};
  return Peer{credentials.uid, credentials.pid};
}

SharePlace::SharePlace(const fs::path& folder, std::string key, uid_t user)
    : folder_(open_folder(folder, user)), key_(std::move(key)), user_(user) {}

Fd SharePlace::connect() const {
  Fd socket = new_socket();
  const sockaddr_un address = address_of(*folder_, key_);
  // Not blocking: an owner that has stopped, its queue full, must not hold us up.
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Fd();
  }
  const std::optional<Peer> peer = peer_of(socket);
  if (!peer || peer->user != user_) {
    throw std::runtime_error("another user listens on " +
                             short_path(folder_->path() / (key_ + ".sock")) + "; remove it");
  }
  return socket;
}

std::unique_ptr<Ownership> SharePlace::try_own() const {
  const std::string name = key_ + ".lock";
  while (true) {
    Fd lock = folder_->open(name, O_RDWR | O_CREAT);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK || errno == EINTR) return nullptr;
      folder_->fail("lock", name, errno);
    }
    // A file that was cleaned away meanwhile locks nobody out.
    struct stat ours{}, there{};
    if (::fstat(lock.get(), &ours) == 0 &&
        ::fstatat(folder_->fd(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        ours.st_ino == there.st_ino && ours.st_dev == there.st_dev) {
      return std::make_unique<Ownership>(folder_, key_, std::move(lock));
    }
  }
}

std::vector<std::string> SharePlace::keys(const fs::path& folder) {
  std::vector<std::string> keys;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".sock") keys.push_back(at->path().stem().string());
  }
  std::ranges::sort(keys);
  return keys;
}

}  // namespace foretoken::lsp

// Where the processes of one user meet to share an engine: a folder that only this user may enter,
// and in it, per engine, a lock and a socket.
//
//   KEY.lock  whoever holds its lock owns the engine. The kernel lets go of it when the owner ends,
//             however that happens, so there is never an owner too many or a dead one. It stays.
//   KEY.sock  the owner listens here. A dead owner's is replaced by the next one's.
//
// Names are looked up from the open folder (/proc/self/fd/N/KEY.sock), so that the path may be longer
// than a socket's address and nobody can put another folder in its place.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lsp/fd.h"
#include "lsp/private_folder.h"

namespace foretoken::lsp {

/// What tells engines apart: two processes share one only where all of it is the same.
struct EngineIdentity {
  std::filesystem::path model;    // the file; its size and time count too
  std::filesystem::path program = "/proc/self/exe";  // another build is another engine
  std::string version, backend;
  int threads = 0, window_tokens = 0, longest_output = 0;
  uint64_t kv_bytes = 0;
};
/// 16 characters of a hash over the identity.
std::string engine_key(const EngineIdentity& identity);

/// The lock, held. Ends with the socket removed and the lock free, in this order. Belongs to one
/// thread.
class Ownership {
 public:
  Ownership(std::shared_ptr<const PrivateFolder> folder, std::string key, Fd lock)
      : folder_(std::move(folder)), key_(std::move(key)), lock_(std::move(lock)) {}
  ~Ownership();
  Ownership(const Ownership&) = delete;

  /// A listening socket that only this user may connect to. Throws std::runtime_error.
  Fd listen() const;

 private:
  const std::shared_ptr<const PrivateFolder> folder_;
  const std::string key_;
  const Fd lock_;
};

/// The process at the other end of a socket, as the kernel knows it.
struct Peer {
  uid_t user = 0;
  pid_t pid = 0;
};
std::optional<Peer> peer_of(const Fd& socket);

/// Belongs to one thread.
class SharePlace {
 public:
  /// Throws std::runtime_error with a line that says what is wrong with the folder.
  SharePlace(const std::filesystem::path& folder, std::string key, uid_t user);

  /// Connected to the owner; nothing where there is none, or none that takes connections now. A
  /// socket that another user listens on throws std::runtime_error.
  Fd connect() const;
  /// Nothing where another process holds it.
  std::unique_ptr<Ownership> try_own() const;

  /// The keys whose socket lies in `folder`; empty where there is no such folder.
  static std::vector<std::string> keys(const std::filesystem::path& folder);

 private:
  const std::shared_ptr<const PrivateFolder> folder_;
  const std::string key_;
  const uid_t user_;
};

}  // namespace foretoken::lsp

// Leaving with the client: a server whose editor was killed must not live on.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "lsp/loop.h"

namespace foretoken::lsp {

/// True where a process with this id exists and has not ended. One that may not be signalled
/// exists; one that nobody has collected yet has ended.
bool process_alive(int64_t process_id);

/// Front thread. Looks every two seconds.
class ProcessWatch {
 public:
  static constexpr std::chrono::milliseconds kInterval{2000};
  using IsAlive = std::function<bool(int64_t)>;

  explicit ProcessWatch(std::shared_ptr<Loop> loop, IsAlive is_alive = process_alive);

  /// Calls `gone` once after the process has ended. A process that was never seen (another
  /// container's numbering) is not watched.
  void watch(int64_t process_id, std::function<void()> gone);

 private:
  void look_later(int64_t process_id, std::function<void()> gone);

  const std::shared_ptr<Loop> loop_;
  const IsAlive is_alive_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace foretoken::lsp

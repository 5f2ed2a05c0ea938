#include "lsp/process_watch.h"

#include <signal.h>
#include <sys/types.h>

#include <cerrno>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

namespace foretoken::lsp {

bool process_alive(int64_t process_id) {
  if (process_id <= 0 || process_id > std::numeric_limits<pid_t>::max()) return false;
  if (::kill(static_cast<pid_t>(process_id), 0) != 0 && errno != EPERM) return false;
  std::ifstream stat("/proc/" + std::to_string(process_id) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return true;  // no such place to look: kill() has said it
  const size_t name_end = line.rfind(')');     // "12 (a name) Z 1 …"
  const char state =
      name_end != std::string::npos && name_end + 2 < line.size() ? line[name_end + 2] : 'R';
  return state != 'Z' && state != 'X';
}

ProcessWatch::ProcessWatch(std::shared_ptr<Loop> loop, IsAlive is_alive)
    : loop_(std::move(loop)), is_alive_(std::move(is_alive)) {}

void ProcessWatch::watch(int64_t process_id, std::function<void()> gone) {
  if (is_alive_(process_id)) look_later(process_id, std::move(gone));
}

void ProcessWatch::look_later(int64_t process_id, std::function<void()> gone) {
  loop_->after(kInterval, [this, alive = std::weak_ptr<int>(alive_), process_id,
                           gone = std::move(gone)]() mutable {
    if (alive.expired()) return;
    if (!is_alive_(process_id)) return gone();
    look_later(process_id, std::move(gone));
  });
}

}  // namespace foretoken::lsp

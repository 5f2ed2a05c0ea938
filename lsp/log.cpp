#include "lsp/log.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <string>

namespace foretoken::lsp {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"off", "error", "warn", "info", "debug"};

}  // namespace

std::optional<LogLevel> log_level_of(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

void Log::write(LogLevel level, std::string_view text) const {
  if (!on(level)) return;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  localtime_r(&now.tv_sec, &local);
  char head[64];
  const int length = std::snprintf(
      head, sizeof head, "%02d:%02d:%02d.%03ld foretoken %s: ", local.tm_hour, local.tm_min,
      local.tm_sec, now.tv_nsec / 1000000, std::string(kNames[static_cast<size_t>(level)]).c_str());
  std::string line(head, static_cast<size_t>(length));
  for (char c : text.substr(0, 1000)) {
    line += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? '?' : c;
  }
  line += '\n';
  // A pipe that polls writable takes up to PIPE_BUF bytes at once, and a line is shorter.
  pollfd ready{fd_, POLLOUT, 0};
  if (::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0) {
    [[maybe_unused]] const ssize_t written = ::write(fd_, line.data(), line.size());
  }
}

}  // namespace foretoken::lsp

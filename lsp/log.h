// The program's log: lines on stderr for people who look for a fault. Never source text, never
// keys.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace foretoken::lsp {

enum class LogLevel : uint8_t { off, error, warn, info, debug };
std::optional<LogLevel> log_level_of(std::string_view name);

/// Thread-safe. A line that nobody reads is dropped: a full stderr pipe must not stop the server.
class Log {
 public:
  explicit Log(LogLevel level = LogLevel::warn, int fd = 2) : level_(level), fd_(fd) {}
  void set_level(LogLevel level) { level_ = level; }
  bool on(LogLevel level) const { return level <= level_.load() && level != LogLevel::off; }
  /// One line; control bytes are masked.
  void write(LogLevel level, std::string_view text) const;
  void error(std::string_view text) const { write(LogLevel::error, text); }
  void warn(std::string_view text) const { write(LogLevel::warn, text); }
  void info(std::string_view text) const { write(LogLevel::info, text); }
  void debug(std::string_view text) const { write(LogLevel::debug, text); }

 private:
  std::atomic<LogLevel> level_;
  int fd_;
};

}  // namespace foretoken::lsp

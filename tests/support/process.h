// A child process with pipes, for end-to-end tests.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/fd.h"
#include "lsp/framing.h"

namespace foretoken::lsp {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FORETOKEN_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FORETOKEN_SANITIZED 1
#endif
#endif
/// Sanitizers shadow every byte and keep freed memory: limits on memory mean nothing under them.
#ifdef FORETOKEN_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Belongs to one thread. Deadlines are generous: they only keep a broken program from hanging a
/// test.
class ChildProcess {
 public:
  static constexpr std::chrono::seconds kPatience{20};

  explicit ChildProcess(const std::vector<std::string>& argv);
  ~ChildProcess();  // kills what is left
  ChildProcess(const ChildProcess&) = delete;

  pid_t id() const { return id_; }
  bool write(std::string_view bytes);  // false: the child has closed its stdin
  void send(std::string_view body) { write(frame_header(body.size()) + std::string(body)); }
  void close_stdin() { in_ = Fd(); }
  void close_stdout() { out_ = Fd(); }
  /// The next frame's body on stdout; nothing at its end or after kPatience. Anything on stdout
  /// that is not a frame shows as "not a frame: …".
  std::optional<std::string> receive();
  /// Exit status (128 + signal); nothing after kPatience.
  std::optional<int> wait();
  std::string errors();  // all of stderr, once the child has ended
  uint64_t resident_bytes() const;
  double cpu_seconds() const;
  void kill(int signal) const;

 private:
  pid_t id_ = -1;
  Fd in_, out_, err_;
  FrameReader reader_;
  std::vector<std::string> frames_;
  std::optional<int> status_;
};

}  // namespace foretoken::lsp

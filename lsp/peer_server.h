// Another engine to be measured beside this one: a llama-server binary, started on loopback and asked
// through its /infill.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace foretoken::lsp {

/// What one request cost, as the asking side saw it, and the server's own counts.
struct PeerAnswer {
  std::string text;
  double ttft_ms = 0, total_ms = 0;
  int reused_tokens = 0, new_tokens = 0, output_tokens = 0;
};

struct PeerQuestion {
  std::string_view prefix;   // lines above the cursor's line
  std::string_view line;     // the cursor's line, left of the cursor
  std::string_view suffix;
  int max_tokens = 16;
};

/// The binary's own words about itself: "version: …", "built with …". Throws std::runtime_error where
/// `binary` is no llama-server that runs here.
std::string peer_version(const std::string& binary);

/// A server process, ended with the object. Front thread; a helper waits for the process.
class PeerServer {
 public:
  /// Starts `command` with a free port of loopback added, and waits until it is ready. Throws
  /// std::runtime_error where it ends before, or where `interrupted` says so.
  PeerServer(std::vector<std::string> command, const std::function<bool()>& interrupted);
  ~PeerServer();
  PeerServer(const PeerServer&) = delete;
  PeerServer& operator=(const PeerServer&) = delete;

  /// Greedy, exactly max_tokens tokens (end-of-text is not taken), streamed. Throws
  /// std::runtime_error.
  PeerAnswer infill(const PeerQuestion& question);

  /// Processor time it has used so far.
  double cpu_ms() const;

 private:
  bool healthy();
  std::string last_words();

  struct Connection;
  const std::string name_;
  std::string address_;
  std::atomic<int> process_{0};
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::string errors_;   // what the process said last, once it has ended; under mutex_
  std::unique_ptr<Connection> connection_;
  std::jthread runner_;  // last: ends first
};

}  // namespace foretoken::lsp

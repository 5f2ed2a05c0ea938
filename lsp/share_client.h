// One attachment to an engine that another process owns: greeting, requests, signs of life.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "lsp/loop.h"
#include "lsp/share_connection.h"

namespace foretoken::lsp {

/// How long an owner may be silent.
struct SharePatience {
  std::chrono::milliseconds hello{2000};  // to greet, or to begin to listen
  std::chrono::milliseconds ping{1000};   // between two looks while something is open
  int pings = 5;                          // looks in a row that found no sign of life
  std::chrono::milliseconds again{10};    // between two tries to connect or to own
};

/// Front thread of its loop; it may also be destroyed where that loop has ended.
class ShareClient {
 public:
  struct Handlers {
    std::function<void(share::Ready)> ready;  // once
    std::function<void(share::Answer)> answer;
    std::function<void(share::Status)> status;
    /// One of these two, once, and nothing after it; it may end this object. The owner has ended, or:
    std::function<void()> gone;
    /// it lives and is of no use: another version, no sign of life, not what it should be.
    std::function<void(std::string why)> useless;
  };
  ShareClient(Fd socket, std::shared_ptr<Loop> loop, share::Hello hello, SharePatience patience,
              Handlers handlers);
  ~ShareClient();
  ShareClient(const ShareClient&) = delete;

  void send(share::Message message);  // not before `ready`, but for AskStatus and Ping

 private:
  void receive(share::Message message);
  void end(std::string why);
  void look_later();
  void look();

  const std::shared_ptr<Loop> loop_;
  const share::Hello hello_;
  const SharePatience patience_;
  Handlers handlers_;
  std::string owner_ = "the process that owns the engine";
  bool greeted_ = false, ready_ = false, ended_ = false;
  std::unordered_set<uint64_t> open_;  // submitted, not answered
  int silent_looks_ = 0;
  Loop::TimerId hello_timer_ = 0, look_timer_ = 0;
  std::unique_ptr<ShareConnection> connection_;
};

}  // namespace foretoken::lsp

// The owner's side of a shared engine: listens, and asks the engine what others want asked.
//
// A client is a process of the same user, and still not trusted with the owner's memory or time: its
// messages are checked, what it does not read is bounded, its requests are bounded and end with it,
// and it holds up nobody else.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

#include "lsp/engine_link.h"
#include "lsp/loop.h"
#include "lsp/share_connection.h"
#include "lsp/share_place.h"
#include "lsp/share_status.h"

namespace foretoken::lsp {

/// What a client may take.
struct ShareLimits {
  size_t clients = 64;
  size_t open_requests = 256;       // of one client
  size_t waiting_bytes = 32u << 20; // answers that one client has not read
  std::chrono::milliseconds hello{10'000};  // to say who it is
};

/// Thread-safe. Two threads: one accepts, one (the loop's) does the rest.
class ShareServer {
 public:
  struct Setup {
    std::string version, name;
    uid_t user = 0;
    ShareLimits limits;
  };
  /// Listens at once; clients wait until ready(). Throws std::runtime_error.
  ShareServer(std::unique_ptr<Ownership> ownership, Setup setup);
  /// The socket goes first, so that a successor need not wait; clients' open requests are cancelled.
  ~ShareServer();

  void ready(std::shared_ptr<EngineLink> engine);  // once
  /// There will be no engine: clients are told why and sent away.
  void refuse(std::string why);
  /// The engine's status with owner and clients, as JSON; on the loop's thread or another's.
  void status(std::function<void(std::string json)> done);

 private:
  struct Client {
    std::unique_ptr<ShareConnection> connection;
    share::Hello hello;
    bool greeted = false;
    Loop::TimerId hello_timer = 0;
    std::unordered_map<uint64_t, EngineLink::Ticket> open;  // by the client's id
  };

  void accept_loop();
  void welcome(Fd socket);
  void turn_away(uint64_t number, const std::string& why);
  void drop(uint64_t number);
  void send(uint64_t number, share::Message message);
  Client* find(uint64_t number);

  void receive(uint64_t number, share::Message message);
  void on(uint64_t number, share::Hello& hello);
  void on(uint64_t number, share::Submit& submit);
  void on(uint64_t number, share::Observe& observe);
  void on(uint64_t number, share::Cancel& cancel);
  void on(uint64_t number, share::Account& account);
  void on(uint64_t number, share::AskStatus& ask);
  void on(uint64_t number, share::Ping& ping);
  template <class Other>
  void on(uint64_t number, Other&) { drop(number); }  // what only an owner says

  void answer(uint64_t number, uint64_t id, engine::Completion completion);
  OwnerFacts facts() const;

  const Setup setup_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::unique_ptr<Ownership> ownership_;
  Fd listening_, wake_;
  const std::shared_ptr<RunningLoop> loop_ = make_loop();

  // The loop's thread only.
  std::shared_ptr<EngineLink> engine_;
  std::string refusal_;
  std::map<uint64_t, Client> clients_;  // by number, in the order they came
  uint64_t numbers_ = 0;

  std::thread acceptor_, thread_;
};

}  // namespace foretoken::lsp

// One engine for all processes of a user. Whoever comes first owns it (lsp/share_place), loads the
// model and serves the others (lsp/share_server); the others attach (lsp/share_client). When the owner
// ends, however, one of the others takes its place and what was open is asked again, so that every
// request is answered once. Where sharing does not work, for whatever reason, the process loads the
// model for itself and says so in one line.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "lsp/engine_link.h"
#include "lsp/loop.h"
#include "lsp/share_client.h"
#include "lsp/share_place.h"
#include "lsp/share_server.h"

namespace foretoken::lsp {

/// Where to meet, and as whom.
struct Sharing {
  std::filesystem::path folder;  // Paths::runtime
  std::string key;               // lsp/share_place: engine_key
  std::string version, name;
  uid_t user = 0;
  bool may_own = true;           // false: attaches where there is an owner, else keeps to itself
  SharePatience patience;
  ShareLimits limits;
};

/// Thread-safe. Three threads of its own: one decides (the loop's), one loads, and the server's.
class SharedEngine final : public EngineLink {
 public:
  using Load = std::function<std::shared_ptr<EngineLink>()>;  // slow; throws std::exception
  using Say = std::function<void(const std::string& line)>;   // any thread

  SharedEngine(Sharing sharing, Load load, Say say);
  ~SharedEngine() override;

  /// Returns once there is an engine, or stop is requested. Throws std::runtime_error where none
  /// could be loaded.
  void wait(std::stop_token stop);

  Ticket submit(engine::Request request, Done done) override;
  void cancel(Ticket ticket) override;
  void observe(engine::Request request) override;
  void account(const AnswerCost& cost) override;
  std::string model_name() const override;
  std::string backend_name() const override;
  void status(std::function<void(std::string json)> done) override;

 private:
  /// A request that is not answered; without `done`, one to observe.
  struct Open {
    engine::Request request;
    Done done;
    bool sent = false;
    int tries = 0;          // owners that had it
    Ticket local = 0;       // where our own engine has it
  };

  // The loop's thread.
  void attach();
  void attach_later();
  void greet(Fd socket);
  void serve(std::unique_ptr<Ownership> ownership);
  void keep_to_itself(const std::string& why);
  void load();
  void loaded(std::shared_ptr<EngineLink> engine);
  void failed(const std::string& why);
  void owner_gone();
  void owner_useless(const std::string& why);
  void ask_again();
  void pump();
  void send_open(Ticket ticket, Open open);
  void settle_costs();

  Ticket enqueue(engine::Request request, Done done);
  void finish(Ticket ticket, engine::Completion completion);
  void finish_all(const engine::Completion& completion);
  void told(uint64_t question, const std::string& json);
  void set_names(std::string model, std::string backend);

  /// A call to our own engine. The engine's thread makes some, so none may be the last to hold it.
  class DirectCall {
   public:
    explicit DirectCall(SharedEngine& shared);
    ~DirectCall();
    explicit operator bool() const { return engine_ != nullptr; }
    EngineLink* operator->() const { return engine_; }

   private:
    SharedEngine& shared_;
    EngineLink* engine_;
  };

  const Sharing sharing_;
  const Load load_;
  const Say say_;
  const std::shared_ptr<RunningLoop> loop_ = make_loop();

  mutable std::mutex mutex_;
  std::condition_variable_any settled_;
  EngineLink* direct_ = nullptr;        // local_, once nothing older waits for it
  int direct_calls_ = 0;
  std::map<Ticket, Open> open_;         // in the order asked
  std::deque<Ticket> waiting_;          // those of them that no engine has
  Ticket tickets_ = 0;
  std::unordered_map<uint64_t, std::function<void(std::string)>> questions_;  // of status
  uint64_t questions_asked_ = 0;
  std::string model_, backend_, failure_;
  bool usable_ = false;

  // The loop's thread only.
  std::optional<SharePlace> place_;
  std::unique_ptr<ShareClient> client_;
  std::unique_ptr<ShareServer> server_;
  std::shared_ptr<EngineLink> local_;
  std::vector<AnswerCost> costs_;  // that no engine has been told yet
  bool attached_ = false, loading_ = false, idle_ = false, said_ = false;
  int attempts_ = 0;

  std::jthread loader_;
  std::thread thread_;
};

}  // namespace foretoken::lsp

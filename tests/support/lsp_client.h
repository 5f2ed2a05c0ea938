// The whole language server in one thread: a clock and a queue in the test's hands, messages in and
// out as JSON. No sleeps, no threads, no order left to chance.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/server.h"
#include "tests/support/fake_completer.h"

namespace foretoken::lsp {

/// Thread-safe: post. Else the test's thread.
class ManualLoop : public Loop {
 public:
  void post(Work work) override;
  TimerId after(std::chrono::milliseconds delay, Work work) override;
  void cancel(TimerId timer) override;

  void run_until_idle();
  void advance(std::chrono::milliseconds by);  // runs what becomes due, in order
  size_t timers() const { return timers_.size(); }

 private:
  struct Timer {
    std::chrono::milliseconds due;
    Work work;
  };
  std::mutex mutex_;
  std::deque<Work> posted_;
  std::map<TimerId, Timer> timers_;
  TimerId last_timer_ = 0;
  std::chrono::milliseconds now_{0};
};

/// Hands the completer over when the test says so.
class ManualSource : public CompleterSource {
 public:
  void start(std::string root, std::function<void(std::shared_ptr<Completer>)> ready,
             std::function<void(std::string)> failed) override;

  bool started = false;
  std::string root;
  std::function<void(std::shared_ptr<Completer>)> ready;
  std::function<void(std::string)> failed;
};

/// A client and its server. Checks by itself that every message out is valid JSON in valid UTF-8
/// and an envelope, and that every request is answered once; see faults().
class LspClient {
 public:
  using json = nlohmann::json;

  /// The model is ready at once unless `loading`.
  explicit LspClient(bool loading = false, ServerSetup setup = {});
  ~LspClient();

  /// A session past `initialized`; the result of initialize. `extra` is merged into the params.
  json start(const json& extra = json::object());

  /// The response, which must be there when the server has nothing left to do.
  json request(std::string_view method, const json& params);
  /// Leaves the answer for later; returns the id.
  json send(std::string_view method, const json& params);
  void send_with_id(const json& id, std::string_view method, const json& params);
  void notify(std::string_view method, const json& params);
  void raw(std::string_view body);
  void expect_answer(const json& id) { ++asked_[id.dump()]; }  // to a request sent raw

  void open(std::string_view uri, std::string_view text, std::string_view language = "c",
            int version = 1);
  void change(std::string_view uri, int version, const json& content_changes);
  json complete(std::string_view uri, int line, int character);  // the response
  json send_complete(std::string_view uri, int line, int character);

  void settle() { loop->run_until_idle(); }
  /// The response to `id`, if it has been given; removes it.
  std::optional<json> answer_to(const json& id);
  bool answered(const json& id) const { return answers_.contains(id.dump()); }
  /// Responses without a known id: those with id null.
  std::vector<json> unattributed() const { return unattributed_; }
  std::vector<json> sent_by_server(std::string_view method) const;  // notifications and requests
  size_t messages_out() const { return messages_out_; }
  const std::vector<std::string>& faults() const { return faults_; }
  size_t unanswered() const;

  std::optional<int> exit_code;
  std::shared_ptr<ManualLoop> loop = std::make_shared<ManualLoop>();
  std::shared_ptr<FakeCompleter> completer = std::make_shared<FakeCompleter>();
  ManualSource source;
  std::unique_ptr<Server> server;

 private:
  class Output;
  void take(const std::string& body);

  Log log_{LogLevel::off};
  std::map<std::string, int> asked_;  // id -> requests minus answers
  std::map<std::string, std::vector<json>> answers_;
  std::vector<json> unattributed_, from_server_;
  std::vector<std::string> faults_;
  size_t messages_out_ = 0;
  int last_id_ = 0;
};

}  // namespace foretoken::lsp

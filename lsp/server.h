// The language server: lifecycle, method table, and what every method means. Messages come in as
// bodies and go out through a Sink; transport, clock and model are handed in, so that a test runs
// the whole server in one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/completer.h"
#include "lsp/documents.h"
#include "lsp/inline_completions.h"
#include "lsp/jsonrpc.h"
#include "lsp/log.h"
#include "lsp/loop.h"
#include "lsp/process_watch.h"
#include "lsp/protocol.h"
#include "lsp/workspace.h"

namespace foretoken::lsp {

/// Where the completer comes from. A model takes seconds to load, so it loads while the server
/// already answers.
class CompleterSource {
 public:
  virtual ~CompleterSource() = default;
  /// Called once, after `initialize`. `root`: the first workspace folder, or "". Exactly one of the
  /// two is called once, on any thread; `failed` with a line for the user: what, where, what to do.
  virtual void start(std::string root, std::function<void(std::shared_ptr<Completer>)> ready,
                     std::function<void(std::string)> failed) = 0;
};

struct ServerSetup {
  std::string version;
  int64_t client_process_id = 0;  // --clientProcessId; 0: none
  ProcessWatch::IsAlive is_alive = process_alive;
  std::function<void(int code)> exit;  // called once; nothing is answered afterwards
};

/// Front thread.
class Server {
 public:
  Server(std::shared_ptr<Loop> loop, std::shared_ptr<Sink> sink, CompleterSource& source,
         const Log& log, ServerSetup setup);

  void receive(std::string_view body);       // one message
  void refuse(std::string_view reason);      // a frame the transport passed over
  void client_gone(std::string_view fault);  // end of the stream; `fault` is empty at a plain end

 private:
  enum class State : uint8_t { fresh, running, shut_down, ended };
  using OnRequest = void (Server::*)(Reply, const Value&);
  using OnNotification = void (Server::*)(const Value&);

  static OnRequest request_handler(std::string_view method);
  static OnNotification notification_handler(std::string_view method);
  void dispatch(Message message);
  void on_request(Request request);
  void on_notification(Notification notification);
  void on_response(Response response);
  void end(int code);

  // Lifecycle and settings: server.cpp
  void initialize(Reply reply, const Value& params);
  void initialized(const Value& params);
  void shutdown(Reply reply, const Value& params);
  void exit(const Value& params);
  void cancel(const Value& params);
  void set_trace(const Value& params);
  void start_model();
  void model_failed(const std::string& why);
  void pull_settings();
  void apply(const SettingsChange& change);
  void settings_changed(const Value& params);
  void folders_changed(const Value& params);
  void tell_status(bool busy, std::string_view kind, std::string_view text);
  void ignore(const Value& params);

  // Documents and completion: server_documents.cpp
  void did_open(const Value& params);
  void did_change(const Value& params);
  void did_close(const Value& params);
  void did_save(const Value& params);
  void inline_completion(Reply reply, const Value& params);
  void execute_command(Reply reply, const Value& params);
  void command_sent(const Value& params);
  void did_show(const Value& params);
  void did_accept_part(const Value& params);
  void accepted(const std::string& item);
  std::shared_ptr<const Snapshot> document_to_complete(const std::string& uri) const;

  // Questions about the server itself: server_documents.cpp
  void document_hash(Reply reply, const Value& params);
  void memory(Reply reply, const Value& params);
  void status(Reply reply, const Value& params);

  // What Copilot's clients expect of a server: server_copilot.cpp
  void answer_null(Reply reply, const Value& params);
  void answer_ok(Reply reply, const Value& params);
  void sign_in(Reply reply, const Value& params);
  void check_status(Reply reply, const Value& params);
  void get_version(Reply reply, const Value& params);
  void check_file_status(Reply reply, const Value& params);
  void no_edits(Reply reply, const Value& params);
  void no_items(Reply reply, const Value& params);
  void no_completions(Reply reply, const Value& params);

  /// The struct, or null after the fault was answered (requests) or logged (notifications).
  template <class T>
  T* expect(Parsed<T>& parsed, Reply& reply);
  template <class T>
  T* expect(Parsed<T>& parsed, std::string_view method);

  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Sink> sink_;
  CompleterSource& source_;
  const Log& log_;
  const ServerSetup setup_;

  State state_ = State::fresh;
  Documents documents_;
  Workspace workspace_;
  Settings settings_;
  InitializeParams client_;
  ServerStatus counts_;
  std::deque<std::string> recently_accepted_;
  std::string pull_id_;  // of the newest workspace/configuration request
  uint64_t last_request_ = 0;
  ProcessWatch processes_;
  InlineCompletions completions_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();  // posted work checks it
};

template <class T>
T* Server::expect(Parsed<T>& parsed, Reply& reply) {
  if (auto* value = std::get_if<T>(&parsed)) return value;
  std::move(reply).error(ErrorCode::invalid_params, std::get<ParamError>(parsed).what);
  return nullptr;
}

template <class T>
T* Server::expect(Parsed<T>& parsed, std::string_view method) {
  if (auto* value = std::get_if<T>(&parsed)) return value;
  log_.warn(std::string(method) + ": " + std::get<ParamError>(parsed).what);
  return nullptr;
}

}  // namespace foretoken::lsp

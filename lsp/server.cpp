#include "lsp/server.h"

#include <algorithm>
#include <exception>
#include <unordered_map>
#include <utility>

namespace foretoken::lsp {
namespace {

/// utf-16 unless the client's settings ask for another: every client knows it, and plugins written
/// for Copilot send it whatever was agreed. "auto" takes what the client offers first.
PositionEncoding choose_encoding(const InitializeParams& client) {
  for (const PositionEncoding offered : client.encodings) {
    if (client.encoding_wish == "auto" || client.encoding_wish == name(offered)) return offered;
  }
  return PositionEncoding::utf16;
}

}  // namespace

Server::Server(std::shared_ptr<Loop> loop, std::shared_ptr<Sink> sink, CompleterSource& source,
               const Log& log, ServerSetup setup)
    : loop_(std::move(loop)),
      sink_(std::move(sink)),
      source_(source),
      log_(log),
      setup_(std::move(setup)),
      processes_(loop_, setup_.is_alive),
      completions_(loop_, documents_, log_) {
  processes_.watch(setup_.client_process_id,
                   [this] { client_gone("the client's process has ended"); });
}

Server::OnRequest Server::request_handler(std::string_view method) {
  static const std::unordered_map<std::string_view, OnRequest> kTable = {
      {"initialize", &Server::initialize},
      {"shutdown", &Server::shutdown},
      {"textDocument/inlineCompletion", &Server::inline_completion},
      {"workspace/executeCommand", &Server::execute_command},
      {"foretoken/documentHash", &Server::document_hash},
      {"foretoken/memory", &Server::memory},
      {"foretoken/status", &Server::status},
      {"textDocument/didFocus", &Server::answer_null},
      {"textDocument/didShowCompletion", &Server::answer_null},
      {"textDocument/didPartiallyAcceptCompletion", &Server::answer_null},
      {"textDocument/didShowInlineEdit", &Server::answer_null},
      {"textDocument/copilotInlineEdit", &Server::no_edits},
      {"textDocument/copilotPanelCompletion", &Server::no_items},
      {"getCompletions", &Server::no_completions},
      {"getCompletionsCycling", &Server::no_completions},
      {"signIn", &Server::sign_in},
      {"signInInitiate", &Server::sign_in},
      {"signInConfirm", &Server::check_status},
      {"signOut", &Server::answer_ok},
      {"checkStatus", &Server::check_status},
      {"checkFileStatus", &Server::check_file_status},
      {"getVersion", &Server::get_version},
      {"setEditorInfo", &Server::answer_ok},
      {"notifyShown", &Server::answer_ok},
      {"notifyAccepted", &Server::answer_ok},
      {"notifyRejected", &Server::answer_ok},
  };
  const auto found = kTable.find(method);
  return found == kTable.end() ? nullptr : found->second;
}

Server::OnNotification Server::notification_handler(std::string_view method) {
  static const std::unordered_map<std::string_view, OnNotification> kTable = {
      {"initialized", &Server::initialized},
      {"exit", &Server::exit},
      {"$/cancelRequest", &Server::cancel},
      {"$/setTrace", &Server::set_trace},
      {"textDocument/didOpen", &Server::did_open},
      {"textDocument/didChange", &Server::did_change},
      {"textDocument/didClose", &Server::did_close},
      {"textDocument/didSave", &Server::did_save},
      {"textDocument/willSave", &Server::ignore},
      {"workspace/didChangeConfiguration", &Server::settings_changed},
      {"workspace/didChangeWorkspaceFolders", &Server::folders_changed},
      {"workspace/didChangeWatchedFiles", &Server::ignore},
      {"workspace/executeCommand", &Server::command_sent},
      {"textDocument/didFocus", &Server::ignore},
      {"textDocument/didShowCompletion", &Server::did_show},
      {"textDocument/didPartiallyAcceptCompletion", &Server::did_accept_part},
      {"textDocument/didShowInlineEdit", &Server::ignore},
      {"window/workDoneProgress/cancel", &Server::ignore},
  };
  const auto found = kTable.find(method);
  return found == kTable.end() ? nullptr : found->second;
}

void Server::receive(std::string_view body) {
  if (state_ == State::ended) return;
  try {
    dispatch(parse_message(body));
  } catch (
      const std::exception& error) {  // out of memory, in all likelihood; the reply has gone out
    log_.error(std::string("a message could not be handled: ") + error.what());
  }
}

void Server::refuse(std::string_view reason) {
  if (state_ == State::ended) return;
  log_.warn(reason);
  sink_->send(error_without_id(ErrorCode::invalid_request, reason));
}

void Server::client_gone(std::string_view fault) {
  if (state_ == State::ended) return;
  if (!fault.empty()) log_.error(std::string(fault) + "; leaving");
  end(state_ == State::shut_down && fault.empty() ? 0 : 1);
}

void Server::end(int code) {
  state_ = State::ended;
  completions_.drop_all();
  if (setup_.exit) setup_.exit(code);
}

void Server::dispatch(Message message) {
  if (auto* request = std::get_if<Request>(&message)) return on_request(std::move(*request));
  if (auto* note = std::get_if<Notification>(&message)) return on_notification(std::move(*note));
  if (auto* response = std::get_if<Response>(&message)) return on_response(std::move(*response));
  auto& malformed = std::get<Malformed>(message);
  log_.warn("a malformed message: " + malformed.what);
  if (malformed.id)
    return Reply(sink_, std::move(*malformed.id)).error(malformed.code, malformed.what);
  sink_->send(error_without_id(malformed.code, malformed.what));
}

void Server::on_request(Request request) {
  Reply reply(sink_, std::move(request.id));
  const OnRequest handler = request_handler(request.method);
  if (state_ == State::fresh && handler != &Server::initialize) {
    return std::move(reply).error(ErrorCode::server_not_initialized, "send initialize first");
  }
  if (state_ == State::shut_down) {
    return std::move(reply).error(ErrorCode::invalid_request, "the server is shut down; send exit");
  }
  if (completions_.has(reply.id())) {
    return std::move(reply).error(ErrorCode::invalid_request,
                                  "a request with this id is not answered yet");
  }
  if (handler == nullptr) {
    return std::move(reply).error(ErrorCode::method_not_found,
                                  "no such method: " + request.method.substr(0, 100));
  }
  (this->*handler)(std::move(reply), request.params);
}

void Server::on_notification(Notification notification) {
  const OnNotification handler = notification_handler(notification.method);
  if (handler == nullptr) return log_.debug("ignored: " + notification.method.substr(0, 100));
  if (state_ != State::running && handler != &Server::exit) return;
  (this->*handler)(notification.params);
}

void Server::on_response(Response response) {
  if (state_ != State::running || pull_id_.empty() || response.id != pull_id_) return;
  pull_id_.clear();
  if (response.error) return log_.info("the client gave no settings");
  apply(parse_pulled_settings(response.result));
}

void Server::initialize(Reply reply, const Value& params) {
  if (state_ != State::fresh) {
    return std::move(reply).error(ErrorCode::invalid_request, "the server is initialized already");
  }
  auto parsed = parse_initialize(params);
  InitializeParams* client = expect(parsed, reply);
  if (client == nullptr) return;
  client_ = std::move(*client);
  state_ = State::running;
  documents_.set_encoding(choose_encoding(client_));
  workspace_.set(client_.folders);
  apply(client_.settings);
  if (client_.process_id) {
    processes_.watch(*client_.process_id,
                     [this] { client_gone("the client's process has ended"); });
  }
  log_.info("client: " + client_.client + ", positions in " + name(documents_.encoding()));
  std::move(reply).result(initialize_result(documents_.encoding(), setup_.version));
  start_model();
}

void Server::start_model() {
  const auto post = [loop = loop_, alive = std::weak_ptr<int>(alive_)](Loop::Work work) {
    loop->post([alive, work = std::move(work)] {
      if (!alive.expired()) work();
    });
  };
  tell_status(true, "Normal", "Loading the model");
  source_.start(
      workspace_.roots().empty() ? "" : workspace_.roots().front(),
      [this, post](std::shared_ptr<Completer> completer) {
        post([this, completer = std::move(completer)] {
          if (state_ == State::ended) return;
          completions_.model_ready(completer);
          tell_status(false, "Normal", "");
        });
      },
      [this, post](std::string why) { post([this, why = std::move(why)] { model_failed(why); }); });
}

void Server::model_failed(const std::string& why) {
  if (state_ == State::ended) return;
  log_.error(why);
  completions_.model_failed();
  sink_->send(notification("window/showMessage",
                           message_params(1, "Foretoken cannot complete code: " + why)));
  tell_status(false, "Warning", "The model could not be loaded");
}

void Server::tell_status(bool busy, std::string_view kind, std::string_view text) {
  if (!client_.copilot_style) return;  // other clients log notifications they do not know
  for (const std::string_view method : {"didChangeStatus", "statusNotification"}) {
    Outgoing message = notification(method, status_params(busy, kind, text));
    message.droppable = true;
    sink_->send(std::move(message));
  }
}

void Server::initialized(const Value&) {
  if (client_.register_configuration) {
    sink_->send(request("foretoken-" + std::to_string(++last_request_), "client/registerCapability",
                        registration_request()));
  }
  pull_settings();
}

/// Only the newest question counts: answers to older ones are out of date, and some clients never
/// answer.
void Server::pull_settings() {
  if (!client_.configuration) return;
  pull_id_ = "foretoken-" + std::to_string(++last_request_);
  sink_->send(request(pull_id_, "workspace/configuration", configuration_request()));
}

void Server::settings_changed(const Value& params) {
  apply(parse_pushed_settings(params));
  pull_settings();
}

void Server::apply(const SettingsChange& change) {
  for (const std::string& problem : change.problems)
    log_.warn("a setting has a wrong value: " + problem);
  change.apply_to(&settings_);
}

void Server::folders_changed(const Value& params) {
  auto parsed = parse_folders_change(params);
  const FoldersChange* change = expect(parsed, "workspace/didChangeWorkspaceFolders");
  if (change == nullptr) return;
  workspace_.remove(change->removed);
  workspace_.add(change->added);
}

void Server::shutdown(Reply reply, const Value& params) {
  auto parsed = parse_anything(params);
  if (expect(parsed, reply) == nullptr) return;
  state_ = State::shut_down;
  completions_.drop_all();
  std::move(reply).null();
}

void Server::exit(const Value&) {
  end(state_ == State::shut_down ? 0 : 1);
}

void Server::cancel(const Value& params) {
  auto parsed = parse_cancel(params);
  if (const RequestId* id = expect(parsed, "$/cancelRequest")) completions_.cancel(*id);
}

void Server::set_trace(const Value& params) {
  auto parsed = parse_trace(params);  // nothing is traced; the value is only checked
  expect(parsed, "$/setTrace");
}

void Server::ignore(const Value&) {}

}  // namespace foretoken::lsp

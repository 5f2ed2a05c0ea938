#include "tests/support/lsp_client.h"

#include <gtest/gtest.h>

#include <utility>

namespace foretoken::lsp {

void ManualLoop::post(Work work) {
  std::lock_guard lock(mutex_);
  posted_.push_back(std::move(work));
}

Loop::TimerId ManualLoop::after(std::chrono::milliseconds delay, Work work) {
  timers_.emplace(++last_timer_, Timer{now_ + delay, std::move(work)});
  return last_timer_;
}

void ManualLoop::cancel(TimerId timer) {
  timers_.erase(timer);
}

void ManualLoop::run_until_idle() {
  while (true) {
    Work work;
    {
      std::lock_guard lock(mutex_);
      if (posted_.empty()) return;
      work = std::move(posted_.front());
      posted_.pop_front();
    }
    work();
  }
}

void ManualLoop::advance(std::chrono::milliseconds by) {
  const auto until = now_ + by;
  run_until_idle();
  while (true) {
    auto next = timers_.end();
    for (auto at = timers_.begin(); at != timers_.end(); ++at) {
      if (at->second.due <= until && (next == timers_.end() || at->second.due < next->second.due))
        next = at;
    }
    if (next == timers_.end()) break;
    now_ = next->second.due;
    Work work = std::move(next->second.work);
    timers_.erase(next);
    work();
    run_until_idle();
  }
  now_ = until;
}

void ManualSource::start(std::string in, std::function<void(std::shared_ptr<Completer>)> on_ready,
                         std::function<void(std::string)> on_failed) {
  started = true;
  root = std::move(in);
  ready = std::move(on_ready);
  failed = std::move(on_failed);
}

class LspClient::Output : public Sink {
 public:
  explicit Output(LspClient& client) : client_(client) {}
  void send(Outgoing message) override { client_.take(message.body); }

 private:
  LspClient& client_;
};

LspClient::LspClient(bool loading, ServerSetup setup) {
  if (setup.version.empty()) setup.version = "test";
  setup.exit = [this](int code) {
    if (exit_code) faults_.push_back("exit was called twice");
    exit_code = code;
  };
  server = std::make_unique<Server>(loop, std::make_shared<Output>(*this), source, log_,
                                    std::move(setup));
  if (loading) completer.reset();
}

LspClient::~LspClient() {
  server.reset();  // may answer still
  for (const std::string& fault : faults_) ADD_FAILURE() << fault;
}

LspClient::json LspClient::start(const json& extra) {
  json params = {{"processId", nullptr}, {"rootUri", nullptr}, {"capabilities", json::object()}};
  params.merge_patch(extra);
  json response = request("initialize", params);
  notify("initialized", json::object());
  if (completer && source.ready) source.ready(completer);
  settle();
  return response.value("result", json());
}

LspClient::json LspClient::request(std::string_view method, const json& params) {
  const json id = send(method, params);
  settle();
  auto response = answer_to(id);
  EXPECT_TRUE(response) << method << " was not answered";
  return response.value_or(json::object());
}

LspClient::json LspClient::send(std::string_view method, const json& params) {
  const json id = ++last_id_;
  send_with_id(id, method, params);
  return id;
}

void LspClient::send_with_id(const json& id, std::string_view method, const json& params) {
  ++asked_[id.dump()];
  raw(json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}.dump());
}

void LspClient::notify(std::string_view method, const json& params) {
  raw(json{{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}.dump());
}

void LspClient::raw(std::string_view body) {
  server->receive(body);
}

void LspClient::open(std::string_view uri, std::string_view text, std::string_view language,
                     int version) {
  notify("textDocument/didOpen",
         {{"textDocument",
           {{"uri", uri}, {"languageId", language}, {"version", version}, {"text", text}}}});
}

void LspClient::change(std::string_view uri, int version, const json& content_changes) {
  notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", version}}},
                                    {"contentChanges", content_changes}});
}

LspClient::json LspClient::send_complete(std::string_view uri, int line, int character) {
  return send("textDocument/inlineCompletion",
              {{"textDocument", {{"uri", uri}}},
               {"position", {{"line", line}, {"character", character}}},
               {"context", {{"triggerKind", 2}}}});
}

LspClient::json LspClient::complete(std::string_view uri, int line, int character) {
  const json id = send_complete(uri, line, character);
  settle();
  auto response = answer_to(id);
  EXPECT_TRUE(response) << "a completion was not answered";
  return response.value_or(json::object());
}

std::optional<LspClient::json> LspClient::answer_to(const json& id) {
  const auto found = answers_.find(id.dump());
  if (found == answers_.end()) return std::nullopt;
  json answer = std::move(found->second.front());
  found->second.erase(found->second.begin());
  if (found->second.empty()) answers_.erase(found);
  return answer;
}

std::vector<LspClient::json> LspClient::sent_by_server(std::string_view method) const {
  std::vector<json> out;
  for (const json& message : from_server_) {
    if (message["method"] == method) out.push_back(message);
  }
  return out;
}

size_t LspClient::unanswered() const {
  size_t count = 0;
  for (const auto& [id, open] : asked_) count += open > 0 ? static_cast<size_t>(open) : 0;
  return count;
}

void LspClient::take(const std::string& body) {
  ++messages_out_;
  const json message = json::parse(body, nullptr, /*allow_exceptions=*/false);  // checks UTF-8 too
  if (!message.is_object() || message.value("jsonrpc", "") != "2.0") {
    faults_.push_back("not an envelope: " + body.substr(0, 200));
    return;
  }
  if (message.contains("method")) {
    from_server_.push_back(message);
    return;
  }
  if (message.contains("result") == message.contains("error") || !message.contains("id")) {
    faults_.push_back("not a response: " + body.substr(0, 200));
    return;
  }
  if (message["id"].is_null()) {
    unattributed_.push_back(message);
    return;
  }
  const std::string id = message["id"].dump();
  if (--asked_[id] < 0) faults_.push_back("answered once too often: " + body.substr(0, 200));
  answers_[id].push_back(message);
}

}  // namespace foretoken::lsp

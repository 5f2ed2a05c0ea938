// An editor's side of a session with a server process, message by message.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/process.h"

namespace foretoken::lsp {

/// Belongs to one thread.
class EditorProcess {
 public:
  explicit EditorProcess(const std::vector<std::string>& argv) : child(argv) {}

  void start(const nlohmann::json& process_id = nullptr) {
    request("initialize", {{"processId", process_id}, {"capabilities", nlohmann::json::object()}});
    notify("initialized", nlohmann::json::object());
  }
  int send(std::string_view method, const nlohmann::json& params) {
    child.send(
        nlohmann::json{{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", method}, {"params", params}}
            .dump());
    return id_;
  }
  void notify(std::string_view method, const nlohmann::json& params) {
    child.send(nlohmann::json{{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}.dump());
  }
  nlohmann::json request(std::string_view method, const nlohmann::json& params) {
    return answer_to(send(method, params));
  }
  nlohmann::json answer_to(int id) {
    while (const auto body = child.receive()) {
      nlohmann::json message = nlohmann::json::parse(*body, nullptr, false);
      if (message.is_object() && message.value("id", nlohmann::json()) == id) return message;
    }
    ADD_FAILURE() << "no answer to " << id;
    return nlohmann::json::object();
  }
  void open(std::string_view uri, std::string_view text) {
    notify("textDocument/didOpen",
           {{"textDocument", {{"uri", uri}, {"languageId", "c"}, {"version", 1}, {"text", text}}}});
  }
  int send_complete(std::string_view uri, int character, int line = 0) {
    return send("textDocument/inlineCompletion",
                {{"textDocument", {{"uri", uri}}},
                 {"position", {{"line", line}, {"character", character}}}});
  }
  bool alive() { return request("foretoken/status", nullptr).contains("result"); }

  ChildProcess child;

 private:
  int id_ = 0;
};

}  // namespace foretoken::lsp

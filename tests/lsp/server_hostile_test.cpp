// Whatever a client sends, each request is answered once and the server goes on.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/lsp_client.h"

namespace foretoken::lsp {
namespace {

using json = nlohmann::json;

const std::vector<const char*> kRequests = {
    "initialize", "textDocument/inlineCompletion", "workspace/executeCommand",
    "foretoken/documentHash", "foretoken/memory", "foretoken/status", "textDocument/didFocus",
    "textDocument/didShowCompletion", "textDocument/didPartiallyAcceptCompletion",
    "textDocument/didShowInlineEdit", "textDocument/copilotInlineEdit",
    "textDocument/copilotPanelCompletion", "getCompletions", "getCompletionsCycling", "signIn",
    "signInInitiate", "signInConfirm", "signOut", "checkStatus", "checkFileStatus", "getVersion",
    "setEditorInfo", "notifyShown", "notifyAccepted", "notifyRejected", "textDocument/hover",
    "$/unknown",
    // notifications sent as requests
    "initialized", "exit", "$/cancelRequest", "textDocument/didOpen", "textDocument/didChange"};
const std::vector<const char*> kNotifications = {
    "initialized", "$/cancelRequest", "$/setTrace", "textDocument/didOpen",
    "textDocument/didChange", "textDocument/didClose", "textDocument/didSave",
    "textDocument/willSave", "workspace/didChangeConfiguration",
    "workspace/didChangeWorkspaceFolders", "workspace/didChangeWatchedFiles",
    "workspace/executeCommand", "textDocument/didFocus", "textDocument/didShowCompletion",
    "textDocument/didPartiallyAcceptCompletion", "textDocument/didShowInlineEdit",
    "window/workDoneProgress/cancel", "$/unknown", "unknown",
    // requests sent as notifications
    "textDocument/inlineCompletion", "shutdown", "initialize", "foretoken/status"};

/// Params of wrong shapes: each member of a well-formed message replaced by each odd value.
std::vector<json> odd_params() {
  const json whole = {
      {"textDocument", {{"uri", "file:///a"}, {"languageId", "c"}, {"version", 1}, {"text", "x"}}},
      {"position", {{"line", 0}, {"character", 0}}},
      {"context",
       {{"triggerKind", 1},
        {"selectedCompletionInfo",
         {{"range",
           {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 0}, {"character", 1}}}}},
          {"text", "x"}}}}},
      {"contentChanges",
       {{{"range",
          {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 0}, {"character", 1}}}}},
         {"text", "y"}}}},
      {"event", {{"added", {{{"uri", "file:///w"}}}}, {"removed", {{{"uri", "file:///w"}}}}}},
      {"item", {{"command", {{"command", "c"}, {"arguments", {"i"}}}}}},
      {"settings", {{"foretoken", {{"enabled", true}, {"mode", "line"}, {"maxTokens", 4}}}}},
      {"command", "foretoken.didAcceptCompletionItem"},
      {"arguments", {"i"}},
      {"id", 5},
      {"uri", "file:///a"},
      {"value", "off"},
      {"processId", nullptr},
      {"capabilities", json::object()},
      {"workspaceFolders", {{{"uri", "file:///w"}, {"name", "w"}}}},
      {"rootUri", "file:///w"},
      {"rootPath", "/w"},
      {"initializationOptions", {{"positionEncoding", "auto"}}},
      {"clientInfo", {{"name", "n"}, {"version", "v"}}},
  };
  std::string nul("a\0b", 3);
  const std::vector<json> odd = {nullptr,
                                 true,
                                 0,
                                 -1,
                                 1.5,
                                 4294967296,
                                 18446744073709551615u,
                                 -9223372036854775807 - 1,
                                 1e308,
                                 "",
                                 "x",
                                 nul,
                                 "\xEF\xBF\xBD",
                                 std::string(5000, 'z'),
                                 json::array(),
                                 json::array({nullptr}),
                                 json::array({json::array()}),
                                 json::object(),
                                 {{"uri", 5}}};
  std::vector<json> out = {nullptr, json::array(), json::array({1}), json::object(), whole};
  const json flat = whole.flatten();
  std::set<std::string> places;
  for (const auto& [pointer, leaf] : flat.items()) {
    for (std::string at = pointer; !at.empty(); at = at.substr(0, at.rfind('/'))) places.insert(at);
  }
  for (const std::string& at : places) {
    for (const json& value : odd) {
      json changed = whole;
      changed[json::json_pointer(at)] = value;
      out.push_back(std::move(changed));
    }
    json without = whole;
    const json::json_pointer place(at);
    json& parent = without[place.parent_pointer()];
    if (parent.is_object()) parent.erase(place.back());
    out.push_back(std::move(without));
  }
  return out;
}

/// Methods that look at no member of their params get every 19th: the odd shapes differ in members.
size_t stride(std::string_view method) {
  static const std::set<std::string_view> kReading = {"initialize",
                                                      "textDocument/inlineCompletion",
                                                      "workspace/executeCommand",
                                                      "foretoken/documentHash",
                                                      "$/cancelRequest",
                                                      "$/setTrace",
                                                      "textDocument/didOpen",
                                                      "textDocument/didChange",
                                                      "textDocument/didClose",
                                                      "textDocument/didSave",
                                                      "workspace/didChangeConfiguration",
                                                      "workspace/didChangeWorkspaceFolders",
                                                      "textDocument/didShowCompletion",
                                                      "textDocument/didPartiallyAcceptCompletion"};
  return kReading.contains(method) ? 1 : 19;
}

TEST(Hostile, EveryMethodWithEveryOddParameter) {
  const std::vector<json> all = odd_params();
  EXPECT_GT(all.size(), 1000u);
  for (const char* method : kRequests) {
    LspClient client;
    client.start();
    client.open("file:///a", "x\ny");
    for (size_t i = 0; i < all.size(); i += stride(method)) {
      const json& params = all[i];
      const json response = client.request(method, params);
      const int code = response.contains("error") ? response["error"]["code"].get<int>() : 0;
      ASSERT_TRUE(code == 0 || code == -32602 || code == -32601 || code == -32600)
          << method << " " << response;
    }
    EXPECT_EQ(client.unanswered(), 0u);
    EXPECT_FALSE(client.exit_code) << method;
  }
  for (const char* method : kNotifications) {
    LspClient client;
    client.start();
    client.open("file:///a", "x\ny");
    const size_t before = client.messages_out();
    for (size_t i = 0; i < all.size(); i += stride(method)) client.notify(method, all[i]);
    client.settle();
    EXPECT_EQ(client.messages_out(), before) << method;
    EXPECT_FALSE(client.exit_code) << method;
    client.open("file:///z", "x");
    client.notify("workspace/didChangeConfiguration", {{"settings", {{"enabled", true}}}});
    EXPECT_EQ(client.complete("file:///z", 0, 1)["result"]["items"].size(), 1u) << method;
  }
}

TEST(Hostile, WrongTypesAreNamed) {
  LspClient client;
  client.start();
  const json response =
      client.request("textDocument/inlineCompletion",
                     {{"textDocument", {{"uri", 5}}}, {"position", json::object()}});
  EXPECT_EQ(response["error"]["code"], -32602);
  EXPECT_EQ(response["error"]["message"], "textDocument.uri: expected a string");
}

TEST(Hostile, BytesThatAreNoMessage) {
  LspClient client;
  client.start();
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "{\"a\":[";
  const std::vector<std::pair<std::string, int>> cases = {
      {"", -32700},
      {"{", -32700},
      {deep, -32700},
      {R"({"jsonrpc":"2.0","id":1,"method":"shutdown","params":)" + deep + "}", -32700},
      {R"({"jsonrpc":"2.0","id":1,"method":"shutdown","params":[1e400]})", -32700},
      {R"({"jsonrpc":"2.0","id":1,"method":"shut\ud800down"})", -32700},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700},
      {std::string("{\"jsonrpc\":\"2.0\"\0}", 17), -32700},
      {R"([{"jsonrpc":"2.0","id":1,"method":"shutdown"},{"jsonrpc":"2.0","id":2,"method":"shutdown"}])",
       -32600},
      {"[]", -32600},
      {R"({"jsonrpc":"2.0","id":null,"method":"shutdown"})", -32600},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"shutdown"})", -32600},
  };
  for (const auto& [body, code] : cases) {
    const size_t before = client.unattributed().size();
    client.raw(body);
    ASSERT_EQ(client.unattributed().size(), before + 1) << body.substr(0, 80);
    EXPECT_EQ(client.unattributed().back()["error"]["code"], code) << body.substr(0, 80);
  }
  EXPECT_EQ(client.request("foretoken/status", nullptr)["result"]["requests"], 0);
}

TEST(Hostile, ResponsesNobodyAskedFor) {
  LspClient client;
  client.start({{"capabilities", {{"workspace", {{"configuration", true}}}}}});
  const size_t before = client.messages_out();
  for (const char* body :
       {R"({"jsonrpc":"2.0","id":1,"result":null})", R"({"jsonrpc":"2.0","id":"x","error":{}})",
        R"({"jsonrpc":"2.0","id":"foretoken-1","result":{"a":1}})",
        R"({"jsonrpc":"2.0","id":"foretoken-1","result":[{"enabled":false}]})",
        R"({"jsonrpc":"2.0","id":"","result":[{"enabled":false}]})"}) {
    client.raw(body);
  }
  EXPECT_EQ(client.messages_out(), before);
  client.open("file:///a", "x");
  EXPECT_EQ(client.complete("file:///a", 0, 1)["result"]["items"].size(), 1u);
}

TEST(Hostile, ModelTextIsMadeValid) {
  LspClient client;
  client.start();
  client.open("file:///a", "x");
  CompletionAnswer answer;
  answer.text = std::string("\xf0\x9f\x00\xed\xa0\x80\r\n\xff", 9);
  client.completer->answer_with(answer);
  const std::string text = client.complete("file:///a", 0, 1)["result"]["items"][0]["insertText"];
  EXPECT_TRUE(is_valid_utf8(text));
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

}  // namespace
}  // namespace foretoken::lsp

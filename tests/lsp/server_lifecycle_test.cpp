#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/lsp_client.h"

namespace foretoken::lsp {
namespace {

using json = nlohmann::json;
using std::chrono::milliseconds;

int code(const json& response) {
  return response.contains("error") ? response["error"]["code"].get<int>() : 0;
}

TEST(Lifecycle, BeforeInitialize) {
  LspClient client;
  EXPECT_EQ(code(client.request("shutdown", nullptr)), -32002);
  EXPECT_EQ(code(client.request("textDocument/inlineCompletion", json::object())), -32002);
  EXPECT_EQ(code(client.request("no/suchMethod", json::object())), -32002);
  client.open("file:///a", "text");
  client.notify("no/suchNotification", 5);
  EXPECT_EQ(client.messages_out(), 3u + 1u);  // the last one is no envelope: params is a number
  client.start();
  EXPECT_TRUE(client.request("foretoken/documentHash", {{"uri", "file:///a"}})["result"].is_null());
}

TEST(Lifecycle, NothingIsSentBeforeTheInitializeResult) {
  LspClient client;
  client.send("initialize", {{"capabilities", {{"workspace", {{"configuration", true}}}}},
                             {"initializationOptions", {{"editorPluginInfo", json::object()}}}});
  EXPECT_TRUE(client.answered(1));
  EXPECT_EQ(client.sent_by_server("didChangeStatus").size(), 1u);
  EXPECT_TRUE(client.sent_by_server("workspace/configuration").empty());
}

TEST(Lifecycle, InitializeTwice) {
  LspClient client;
  client.start();
  EXPECT_EQ(code(client.request("initialize", {{"capabilities", json::object()}})), -32600);
  EXPECT_EQ(code(client.request("foretoken/status", nullptr)), 0);
}

TEST(Lifecycle, FailedInitializeMayBeRepeated) {
  LspClient client;
  EXPECT_EQ(code(client.request("initialize", {{"processId", "x"}})), -32602);
  EXPECT_EQ(code(client.request("foretoken/status", nullptr)), -32002);
  EXPECT_TRUE(client.start().contains("capabilities"));
}

TEST(Lifecycle, ShutdownThenExit) {
  for (const json& params : {json(nullptr), json::object()}) {
    LspClient client;
    client.start();
    EXPECT_EQ(client.request("shutdown", params)["result"], nullptr);
    EXPECT_EQ(code(client.request("shutdown", params)), -32600);
    EXPECT_EQ(code(client.request("textDocument/inlineCompletion", params)), -32600);
    EXPECT_EQ(code(client.request("initialize", json::object())), -32600);
    EXPECT_FALSE(client.exit_code);
    client.notify("exit", params);
    EXPECT_EQ(client.exit_code, 0);
  }
}

TEST(Lifecycle, AbsentParams) {
  LspClient client;
  client.start();
  client.expect_answer("s");
  client.raw(R"({"jsonrpc":"2.0","id":"s","method":"shutdown"})");
  EXPECT_EQ((*client.answer_to("s"))["result"], nullptr);
  client.raw(R"({"jsonrpc":"2.0","method":"exit"})");
  EXPECT_EQ(client.exit_code, 0);
}

TEST(Lifecycle, ExitWithoutShutdown) {
  LspClient fresh;
  fresh.notify("exit", nullptr);
  EXPECT_EQ(fresh.exit_code, 1);
  LspClient running;
  running.start();
  running.notify("exit", nullptr);
  EXPECT_EQ(running.exit_code, 1);
  const size_t before = running.messages_out();
  running.raw("not JSON");
  EXPECT_EQ(running.messages_out(), before);  // nothing after the end
}

TEST(Lifecycle, EndOfStream) {
  LspClient running;
  running.start();
  running.completer->close_gate();
  running.open("file:///a", "x");
  running.send_complete("file:///a", 0, 1);
  running.server->client_gone("");
  EXPECT_EQ(running.exit_code, 1);
  EXPECT_EQ(running.unanswered(), 0u);
  EXPECT_EQ(running.completer->running(), 0u);
  LspClient shut_down;
  shut_down.start();
  shut_down.request("shutdown", nullptr);
  shut_down.server->client_gone("");
  EXPECT_EQ(shut_down.exit_code, 0);
  LspClient broken;
  broken.start();
  broken.request("shutdown", nullptr);
  broken.server->client_gone("Content-Length is missing");
  EXPECT_EQ(broken.exit_code, 1);
}

TEST(Lifecycle, LeavesWithTheClientsProcess) {
  std::map<int64_t, bool> alive = {{7, true}, {8, true}};
  ServerSetup setup;
  setup.client_process_id = 7;
  setup.is_alive = [&](int64_t id) { return alive[id]; };
  for (const int64_t dying : {7, 8}) {
    alive = {{7, true}, {8, true}};
    LspClient client(false, setup);
    client.start({{"processId", 8}});
    client.loop->advance(std::chrono::hours(1));
    EXPECT_FALSE(client.exit_code);
    alive[dying] = false;
    client.loop->advance(milliseconds(5000));
    EXPECT_EQ(client.exit_code, 1) << dying;
  }
}

TEST(Lifecycle, AProcessNeverSeenIsNotWatched) {
  ServerSetup setup;
  setup.is_alive = [](int64_t) { return false; };
  LspClient client(false, setup);
  client.start({{"processId", 12345}});
  client.loop->advance(std::chrono::hours(1));
  EXPECT_FALSE(client.exit_code);
  EXPECT_TRUE(process_alive(::getpid()) && process_alive(1));
  for (const int64_t never : {int64_t{0}, int64_t{-1}, int64_t{1} << 40})
    EXPECT_FALSE(process_alive(never));
}

TEST(Lifecycle, PositionEncoding) {
  struct Case {
    json offered;
    const char* wish;
    const char* chosen;
  };
  const json all = {"utf-8", "utf-16", "utf-32"}, emacs = {"utf-32", "utf-8", "utf-16"};
  for (const Case& c : std::vector<Case>{{all, "", "utf-16"},
                                         {all, "auto", "utf-8"},
                                         {emacs, "auto", "utf-32"},
                                         {emacs, "utf-8", "utf-8"},
                                         {emacs, "utf-9", "utf-16"},
                                         {json::array({"utf-16"}), "utf-8", "utf-16"},
                                         {json::array({"utf-7"}), "auto", "utf-16"},
                                         {nullptr, "auto", "utf-16"}}) {
    LspClient client;
    const json result =
        client.start({{"initializationOptions", {{"positionEncoding", c.wish}}},
                      {"capabilities", {{"general", {{"positionEncodings", c.offered}}}}}});
    EXPECT_EQ(result["capabilities"]["positionEncoding"], c.chosen) << c.offered << " " << c.wish;
  }
}

TEST(Lifecycle, UnknownMethods) {
  LspClient client;
  client.start();
  for (const char* method : {"textDocument/hover", "$/unknown", "", "rpc.x"}) {
    EXPECT_EQ(code(client.request(method, json::object())), -32601) << method;
    client.notify(method, json::object());
  }
  for (const char* value : {"off", "messages", "verbose"})
    client.notify("$/setTrace", {{"value", value}});
  EXPECT_EQ(client.messages_out(), 1u + 4u);
}

TEST(Lifecycle, RefusedFramesAreAnswered) {
  LspClient client;
  client.start();
  client.server->refuse("a message of 99 bytes was passed over");
  ASSERT_EQ(client.unattributed().size(), 1u);
  EXPECT_EQ(code(client.unattributed()[0]), -32600);
}

TEST(Settings, ArePulledAndPushed) {
  LspClient client;
  client.open("file:///a", "x");
  client.start({{"capabilities",
                 {{"workspace",
                   {{"configuration", true},
                    {"didChangeConfiguration", {{"dynamicRegistration", true}}}}}}}});
  client.open("file:///a", "x");
  const auto items = [&] { return client.complete("file:///a", 0, 1)["result"]["items"].size(); };
  const auto answer_pull = [&](const json& result) {
    client.raw(json{
        {"jsonrpc", "2.0"},
        {"id", client.sent_by_server("workspace/configuration").back()["id"]},
        {"result",
         result}}.dump());
  };
  EXPECT_EQ(client.sent_by_server("client/registerCapability").size(), 1u);
  ASSERT_EQ(client.sent_by_server("workspace/configuration").size(), 1u);
  EXPECT_EQ(items(), 1u);  // nobody waits for the answer
  const json first_pull = client.sent_by_server("workspace/configuration").back()["id"];
  answer_pull({{{"enabled", false}}});
  EXPECT_EQ(items(), 0u);
  client.notify("workspace/didChangeConfiguration",
                {{"settings", {{"foretoken", {{"enabled", true}}}}}});
  EXPECT_EQ(items(), 1u);
  EXPECT_EQ(client.sent_by_server("workspace/configuration").size(), 2u);
  client.raw(json{{"jsonrpc", "2.0"}, {"id", first_pull}, {"result", {{{"enabled", false}}}}}
                 .dump());  // too late
  EXPECT_EQ(items(), 1u);
  for (const json& odd :
       {json(nullptr), json::array(), json::array({nullptr}), json("x"), json(5)}) {
    client.notify("workspace/didChangeConfiguration", {{"settings", odd}});
    answer_pull(odd);
    EXPECT_EQ(items(), 1u) << odd;
  }
  client.notify("workspace/didChangeConfiguration", json::object());
  client.raw(json{{"jsonrpc", "2.0"},
                  {"id", client.sent_by_server("workspace/configuration").back()["id"]},
                  {"error", {{"code", -32601}, {"message", "no"}}}}
                 .dump());
  EXPECT_EQ(items(), 1u);
}

TEST(Settings, AreNotPulledFromAClientThatDoesNotAnswer) {
  LspClient client;
  client.start();
  client.notify("workspace/didChangeConfiguration", {{"settings", json::object()}});
  EXPECT_TRUE(client.sent_by_server("workspace/configuration").empty());
}

TEST(Model, TheRootIsTheFirstFolder) {
  LspClient client;
  client.start(
      {{"workspaceFolders",
        {{{"uri", "file:///usr"}, {"name", "usr"}}, {{"uri", "file:///bin"}, {"name", "b"}}}}});
  EXPECT_EQ(client.source.root, "/usr");
}

TEST(Model, ARequestWaitsTwoSecondsForIt) {
  LspClient client(/*loading=*/true);
  client.start();
  client.open("file:///a", "x");
  const json waiting = client.send_complete("file:///a", 0, 1);
  client.loop->advance(milliseconds(1999));
  EXPECT_FALSE(client.answered(waiting));
  client.loop->advance(milliseconds(1));
  EXPECT_EQ((*client.answer_to(waiting))["result"], (json{{"items", json::array()}}));
  EXPECT_EQ(client.request("foretoken/status", nullptr)["result"]["model"], "loading");

  const json lucky = client.send_complete("file:///a", 0, 1);
  client.loop->advance(milliseconds(1000));
  client.source.ready(std::make_shared<FakeCompleter>("done"));
  client.settle();
  EXPECT_EQ((*client.answer_to(lucky))["result"]["items"][0]["insertText"], "xdone");
  EXPECT_EQ(client.loop->timers(), 0u);
  EXPECT_EQ(client.request("foretoken/status", nullptr)["result"]["model"], "ready");
}

TEST(Model, WaitingRequestsAreSupersededAndCancelledToo) {
  LspClient client(/*loading=*/true);
  client.start();
  client.open("file:///a", "x");
  const json first = client.send_complete("file:///a", 0, 1);
  const json second = client.send_complete("file:///a", 0, 1);
  EXPECT_EQ((*client.answer_to(first))["result"], nullptr);
  client.notify("$/cancelRequest", {{"id", second}});
  EXPECT_EQ(code(*client.answer_to(second)), -32800);
  EXPECT_EQ(client.loop->timers(), 0u);
}

TEST(Model, FailureIsToldOnceInPlainWords) {
  LspClient client(/*loading=*/true);
  client.start();
  client.open("file:///a", "x");
  const json waiting = client.send_complete("file:///a", 0, 1);
  client.source.failed("model.gguf is not there; run `foretoken model pull`");
  client.settle();
  EXPECT_EQ((*client.answer_to(waiting))["result"], (json{{"items", json::array()}}));
  EXPECT_EQ(client.complete("file:///a", 0, 1)["result"], (json{{"items", json::array()}}));
  const auto shown = client.sent_by_server("window/showMessage");
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0]["params"], (json{{"type", 1},
                                      {"message",
                                       "Foretoken cannot complete code: model.gguf is not there; "
                                       "run `foretoken model pull`"}}));
  EXPECT_EQ(client.request("foretoken/status", nullptr)["result"]["model"], "failed");
  EXPECT_TRUE(client.sent_by_server("didChangeStatus").empty());  // a plain client
}

TEST(Model, NewsAfterTheEndIsIgnored) {
  LspClient client(/*loading=*/true);
  client.start();
  client.notify("exit", nullptr);
  client.source.failed("late");
  client.settle();
  EXPECT_TRUE(client.sent_by_server("window/showMessage").empty());
}

TEST(Copilot, ItsClientsFindWhatTheyExpect) {
  LspClient client;
  client.start({{"initializationOptions",
                 {{"editorInfo", {{"name", "Neovim"}, {"version", "0.10"}}},
                  {"editorPluginInfo", {{"name", "plugin"}, {"version", "1"}}}}}});
  const auto result = [&](const char* method) {
    return client.request(method, json::object())["result"];
  };
  EXPECT_EQ(result("checkStatus"), (json{{"status", "OK"}, {"user", "local"}}));
  EXPECT_EQ(result("signIn"), (json{{"status", "AlreadySignedIn"}, {"user", "local"}}));
  EXPECT_EQ(result("signInInitiate")["status"], "AlreadySignedIn");
  EXPECT_EQ(result("signInConfirm")["status"], "OK");
  EXPECT_EQ(result("signOut"), "OK");
  EXPECT_EQ(result("setEditorInfo"), "OK");
  EXPECT_EQ(result("getVersion"), (json{{"version", "test"}}));
  EXPECT_EQ(result("textDocument/didFocus"), nullptr);
  EXPECT_EQ(result("textDocument/copilotInlineEdit"), (json{{"edits", json::array()}}));
  EXPECT_EQ(result("textDocument/copilotPanelCompletion"), (json{{"items", json::array()}}));
  EXPECT_EQ(result("getCompletions"), (json{{"completions", json::array()}}));
  EXPECT_EQ(result("notifyShown"), "OK");
  const auto states = client.sent_by_server("didChangeStatus");
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[1]["params"], (json{{"busy", false}, {"kind", "Normal"}, {"message", ""}}));
  EXPECT_EQ(client.sent_by_server("statusNotification").size(), 2u);
}

TEST(Copilot, EventsAreCounted) {
  LspClient client;
  client.start();
  const json item = {
      {"command",
       {{"command", "foretoken.didAcceptCompletionItem"}, {"arguments", {"completion-1"}}}}};
  client.notify("textDocument/didFocus", json::object());
  client.notify("textDocument/didShowCompletion", {{"item", item}});
  client.notify("textDocument/didPartiallyAcceptCompletion",
                {{"item", item}, {"acceptedLength", 3}});
  json accept = item["command"];
  EXPECT_EQ(client.request("workspace/executeCommand", accept)["result"], nullptr);
  accept["title"] = "again";
  client.notify("workspace/executeCommand", accept);  // as a notification, and the same item
  accept["arguments"] = {"completion-2"};
  client.notify("workspace/executeCommand", accept);
  EXPECT_EQ(code(client.request("workspace/executeCommand", {{"command", "other.command"}})),
            -32602);
  const json status = client.request("foretoken/status", nullptr)["result"];
  EXPECT_EQ(status["shown"], 1);
  EXPECT_EQ(status["partly_accepted"], 1);
  EXPECT_EQ(status["accepted"], 2);
}

}  // namespace
}  // namespace foretoken::lsp

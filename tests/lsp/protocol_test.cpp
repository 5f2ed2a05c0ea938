#include "lsp/protocol.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace foretoken::lsp {
namespace {

using nlohmann::json;

Value value(const char* text) {
  return Value(json::parse(text));
}

template <class T>
std::string fault(const Parsed<T>& parsed) {
  const auto* error = std::get_if<ParamError>(&parsed);
  return error != nullptr ? error->what : "";
}

TEST(Protocol, FaultsNameTheField) {
  EXPECT_EQ(fault(parse_did_open(value("[]"))), "params: expected an object");
  EXPECT_EQ(fault(parse_did_open(Value())), "params: expected an object");
  EXPECT_EQ(fault(parse_did_open(value("{}"))), "textDocument: expected a value");
  EXPECT_EQ(fault(parse_did_open(value(R"({"textDocument":{"uri":5}})"))),
            "textDocument.uri: expected a string");
  EXPECT_EQ(
      fault(parse_did_open(value(R"({"textDocument":{"uri":"u","text":"t","version":"1"}})"))),
      "textDocument.version: expected an integer");
  EXPECT_EQ(fault(parse_did_change(value(R"({"textDocument":{"uri":"u"},"contentChanges":{}})"))),
            "contentChanges: expected an array");
  EXPECT_EQ(
      fault(parse_did_change(value(
          R"({"textDocument":{"uri":"u"},"contentChanges":[{"text":"a"},{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":-1}},"text":""}]})"))),
      "contentChanges[1].range.end.character: expected a whole number from 0");
  EXPECT_EQ(fault(parse_inline_completion(
                value(R"({"textDocument":{"uri":"u"},"position":{"line":1.5,"character":0}})"))),
            "position.line: expected an integer");
  EXPECT_EQ(
      fault(parse_inline_completion(value(
          R"({"textDocument":{"uri":"u"},"position":{"line":1,"character":0},"context":{"triggerKind":"1"}})"))),
      "context.triggerKind: expected an integer");
  EXPECT_EQ(fault(parse_initialize(value(R"({"processId":"7"})"))),
            "processId: expected an integer");
  EXPECT_EQ(fault(parse_initialize(value(R"({"workspaceFolders":[{"uri":null}]})"))),
            "workspaceFolders[0].uri: expected a value");
  EXPECT_EQ(fault(parse_cancel(value(R"({"id":1.5})"))), "id: expected an integer or a string");
}

TEST(Protocol, ToleratesWhatClientsSend) {
  const auto opened = std::get<DocumentOpened>(
      parse_did_open(value(R"({"textDocument":{"uri":"u","text":"","version":null}})")));
  EXPECT_EQ(opened.version, 0);
  const auto asked = std::get<InlineCompletionParams>(parse_inline_completion(value(
      R"({"textDocument":{"uri":"u","version":3},"position":{"line":1000000,"character":18446744073709551615},
          "formattingOptions":{"tabSize":2},"workDoneToken":"t","partialResultToken":5})")));
  EXPECT_EQ(asked.position, (Position{1000000, 4294967295u}));
  EXPECT_FALSE(asked.invoked);
  const auto command = std::get<Command>(
      parse_execute_command(value(R"({"title":"x","command":"c","arguments":[{"id":1}]})")));
  EXPECT_EQ(command.item, "");
}

TEST(Protocol, InitializeReadsWhatWeUse) {
  const auto client = std::get<InitializeParams>(parse_initialize(value(R"({
      "processId": 7, "clientInfo": {"name": "Editor"}, "rootUri": "file:///b", "rootPath": "/c",
      "workspaceFolders": [{"uri": "file:///a", "name": "a"}],
      "initializationOptions": {"editorPluginInfo": {}, "positionEncoding": "auto", "enabled": false, "mode": "line"},
      "capabilities": {"general": {"positionEncodings": ["utf-7", "utf-32", 5, "utf-16"]},
                       "workspace": {"configuration": true, "didChangeConfiguration": {"dynamicRegistration": true}}}})")));
  EXPECT_EQ(client.process_id, 7);
  EXPECT_EQ(client.folders, std::vector<std::string>{"file:///a"});
  EXPECT_EQ(client.encodings, (std::vector{PositionEncoding::utf32, PositionEncoding::utf16}));
  EXPECT_EQ(client.encoding_wish, "auto");
  EXPECT_TRUE(client.copilot_style && client.configuration && client.register_configuration);
  EXPECT_EQ(client.settings.enabled, false);
  EXPECT_EQ(client.settings.mode, engine::Mode::line);
  const auto folders = [](const char* text) {
    return std::get<InitializeParams>(parse_initialize(value(text))).folders;
  };
  EXPECT_EQ(folders(R"({"workspaceFolders":null,"rootUri":"file:///b","rootPath":"/c"})")[0],
            "file:///b");
  EXPECT_EQ(folders(R"({"rootUri":null,"rootPath":"/c d"})")[0], "file:///c%20d");
  EXPECT_TRUE(folders("{}").empty());
  // Open-ended objects of other shapes are nobody's fault.
  for (
      const char* odd :
      {R"({"capabilities":{"workspace":5,"general":[]},"initializationOptions":[1]})",
       R"({"capabilities":{"general":{"positionEncodings":"utf-8"}},"initializationOptions":null})"}) {
    EXPECT_EQ(fault(parse_initialize(value(odd))), "");
  }
}

TEST(Protocol, SettingsComeWholeOrAsOurSection) {
  for (const char* text : {R"({"foretoken":{"enabled":false,"mode":"block","maxTokens":9}})",
                           R"({"enabled":false,"mode":"block","maxTokens":9,"other":{}})"}) {
    Settings settings;
    parse_settings(value(text)).apply_to(&settings);
    EXPECT_EQ(settings, (Settings{false, engine::Mode::block, 9}));
  }
  const auto wrong = parse_settings(value(R"({"enabled":"no","mode":"novel","maxTokens":-1})"));
  EXPECT_EQ(wrong.problems, (std::vector<std::string>{"foretoken.enabled", "foretoken.mode",
                                                      "foretoken.maxTokens"}));
  for (const char* text : {"null", "{}", "[]", R"({"settings":null})",
                           R"({"settings":{"foretoken":7}})", R"([null])"}) {
    Settings settings;
    parse_pushed_settings(value(text)).apply_to(&settings);
    parse_pulled_settings(value(text)).apply_to(&settings);
    EXPECT_EQ(settings, Settings{}) << text;
  }
}

TEST(Protocol, InitializeResult) {
  const json result = json::parse(initialize_result(PositionEncoding::utf8, "1.2").json);
  const json& capabilities = result["capabilities"];
  EXPECT_EQ(result["serverInfo"], (json{{"name", "foretoken"}, {"version", "1.2"}}));
  EXPECT_EQ(capabilities["positionEncoding"], "utf-8");
  EXPECT_EQ(capabilities["inlineCompletionProvider"], (json{{"workDoneProgress", false}}));
  EXPECT_EQ(capabilities["executeCommandProvider"]["commands"],
            json::array({"foretoken.didAcceptCompletionItem"}));
  EXPECT_EQ(capabilities["workspace"]["workspaceFolders"],
            (json{{"supported", true}, {"changeNotifications", true}}));
  EXPECT_EQ(capabilities["textDocumentSync"],
            (json{{"openClose", true}, {"change", 2}, {"save", {{"includeText", false}}}}));
}

TEST(Protocol, PayloadsHaveTheShapeTheyShould) {
  EXPECT_EQ(inline_items({}).json, R"({"items":[]})");
  const json items = json::parse(inline_items({{"a\nb", {{1, 2}, {1, 3}}, "id"}}).json);
  EXPECT_EQ(items, json::parse(R"({"items":[{"insertText":"a\nb",
      "range":{"start":{"line":1,"character":2},"end":{"line":1,"character":3}},
      "command":{"title":"Accept the completion","command":"foretoken.didAcceptCompletionItem","arguments":["id"]}}]})"));
  EXPECT_EQ(configuration_request().json, R"({"items":[{"section":"foretoken"}]})");
  EXPECT_EQ(json::parse(registration_request().json)["registrations"][0]["method"],
            "workspace/didChangeConfiguration");
  EXPECT_EQ(text_payload("O\"K").json, R"("O\"K")");
  EXPECT_EQ(object_payload({{"status", "OK"}, {"user", "local"}}).json,
            R"({"status":"OK","user":"local"})");
  EXPECT_EQ(empty_list_payload("edits").json, R"({"edits":[]})");
  EXPECT_TRUE(json::accept(message_params(1, "cut \xf0\x9f").json));
}

}  // namespace
}  // namespace foretoken::lsp

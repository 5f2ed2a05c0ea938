#include "lsp/jsonrpc.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace foretoken::lsp {
namespace {

using nlohmann::json;

/// "request 1 m", "notification m", "response a", "-32600 1"
std::string shown(const Message& message) {
  if (const auto* r = std::get_if<Request>(&message))
    return "request " + r->id.json + " " + r->method;
  if (const auto* n = std::get_if<Notification>(&message)) return "notification " + n->method;
  if (const auto* r = std::get_if<Response>(&message))
    return "response " + r->id + (r->error ? " error" : "");
  const auto& m = std::get<Malformed>(message);
  return std::to_string(static_cast<int>(m.code)) + " " + (m.id ? m.id->json : "null");
}

std::string nested(int depth, const std::string& open, const std::string& close) {
  std::string out;
  for (int i = 0; i < depth; ++i) out += open;
  for (int i = 0; i < depth; ++i) out += close;
  return out;
}

TEST(JsonRpc, Envelopes) {
  const std::string v = R"("jsonrpc":"2.0",)";
  const std::string big(2000, '7');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{" + v + R"("id":1,"method":"m"})", "request 1 m"},
      {"{" + v + R"("id":0,"method":"m","params":{}})", "request 0 m"},
      {"{" + v + R"("id":-7,"method":"m","params":[]})", "request -7 m"},
      {"{" + v + R"("id":9223372036854775807,"method":"m","params":null})",
       "request 9223372036854775807 m"},
      {"{" + v + R"("id":"1","method":"m"})", "request \"1\" m"},
      {"{" + v + R"("id":"é\n","method":"m"})", "request \"é\\n\" m"},
      {"{" + v + R"("id":"","method":"m"})", "request \"\" m"},
      {"\xEF\xBB\xBF{" + v + R"("id":1,"method":"m"})", "request 1 m"},
      {"{" + v + R"("method":"m","extra":[1]})", "notification m"},
      {"{" + v + R"("method":"a","method":"b"})", "notification b"},
      {"{" + v + R"("id":"a","result":null})", "response a"},
      {"{" + v + R"("id":"a","result":1,"error":null})", "response a"},
      {"{" + v + R"("id":"a","error":{"code":1,"message":"x"}})", "response a error"},
      {"{" + v + R"("id":5,"result":1})", "response "},
      // Not messages
      {"{" + v + R"("id":null,"method":"m"})", "-32600 null"},
      {"{" + v + R"("id":1.0,"method":"m"})", "-32600 null"},
      {"{" + v + R"("id":1e2,"method":"m"})", "-32600 null"},
      {"{" + v + R"("id":99999999999999999999,"method":"m"})", "-32600 null"},
      {"{" + v + R"("id":true,"method":"m"})", "-32600 null"},
      {"{" + v + R"("id":[1],"method":"m"})", "-32600 null"},
      {"{" + v + R"("id":{},"method":"m"})", "-32600 null"},
      {"{" + v + R"("id":")" + big + R"(","method":"m"})", "-32600 null"},
      {R"({"id":1,"method":"m"})", "-32600 1"},
      {R"({"jsonrpc":"1.0","id":1,"method":"m"})", "-32600 1"},
      {R"({"jsonrpc":2.0,"id":"x","method":"m"})", "-32600 \"x\""},
      {"{" + v + R"("id":1,"method":5})", "-32600 1"},
      {"{" + v + R"("id":1,"method":null})", "-32600 1"},
      {"{" + v + R"("id":1,"method":"m","params":5})", "-32600 1"},
      {"{" + v + R"("id":1,"method":"m","params":"x"})", "-32600 1"},
      {"{" + v + R"("id":1})", "-32600 1"},
      {"{" + v + R"("result":1})", "-32600 null"},
      {"{}", "-32600 null"},
      {"[]", "-32600 null"},
      {"[{" + v + R"("id":1,"method":"m"},{"id":2}])", "-32600 null"},
      {"null", "-32600 null"},
      {"5", "-32600 null"},
      {"\"x\"", "-32600 null"},
      // Not JSON
      {"", "-32700 null"},
      {" ", "-32700 null"},
      {"{", "-32700 null"},
      {"{" + v + R"("id":1,"method":"m"}x)", "-32700 null"},
      {"{" + v + R"("id":1,"method":"m",})", "-32700 null"},
      {"{" + v + R"("id":1e400,"method":"m"})", "-32700 null"},
      {"{" + v + R"("id":1,"method":"m","params":[1e400]})", "-32700 null"},
      {"{" + v + R"("id":NaN,"method":"m"})", "-32700 null"},
      {"{" + v + R"("id":1,"method":"\ud800"})", "-32700 null"},
      {"{" + v + R"("id":1,"method":"\udc00\ud800"})", "-32700 null"},
      {"{" + v + "\"id\":1,\"method\":\"\xff\"}", "-32700 null"},
      {"{" + v + "\"id\":1,\"method\":\"\xc3\"}", "-32700 null"},
      {"{" + v + "\"id\":1,\"method\":\"\xed\xa0\x80\"}", "-32700 null"},
      {"{" + v + "\"id\":1,\"method\":\"a\tb\"}", "-32700 null"},
      {std::string("{\0}", 3), "-32700 null"},
      {"/* c */ {}", "-32700 null"},
      {nested(200'000, "[", "]"), "-32700 null"},
      {nested(200'000, "[", ""), "-32700 null"},
      {nested(200'000, "{\"a\":", "}"), "-32700 null"},
      {"{" + v + R"("id":1,"method":"m","params":)" + nested(200'000, "[", "]") + "}",
       "-32700 null"},
      {"{" + v + R"("id":1,"method":"m","params":{"a":)" + nested(200, "[", "]") + "}}",
       "request 1 m"},
      {"{" + v + R"("id":1,"method":"[[[)" + std::string(1000, '[') + "\"}",
       "request 1 [[[" + std::string(1000, '[')},
      {"{" + v + R"("id":1,"method":"\"[\\"})", "request 1 \"[\\"},
  };
  for (const auto& [body, expected] : cases)
    EXPECT_EQ(shown(parse_message(body)), expected) << body.substr(0, 100);
  EXPECT_EQ(shown(parse_message("{" + v + R"("id":1,"method":"a\u0000b"})")),
            std::string("request 1 a\0b", 13));
}

TEST(JsonRpc, FaultsDoNotQuoteTheMessage) {
  const Message message =
      parse_message(R"({"jsonrpc":"2.0","params":{"text":"secret source" oops})");
  EXPECT_EQ(std::get<Malformed>(message).what.find("secret"), std::string::npos);
}

class Recorder : public Sink {
 public:
  void send(Outgoing message) override { sent.push_back(std::move(message)); }
  std::vector<Outgoing> sent;
};

TEST(JsonRpc, AReplyAnswersOnce) {
  const auto sink = std::make_shared<Recorder>();
  { Reply reply(sink, {"7"}); }
  ASSERT_EQ(sink->sent.size(), 1u);
  EXPECT_EQ(json::parse(sink->sent[0].body)["error"]["code"], -32603);

  {
    Reply reply(sink, {"\"a\""});
    Reply moved(std::move(reply));
    std::move(moved).result({"[1]"});
  }
  ASSERT_EQ(sink->sent.size(), 2u);
  EXPECT_EQ(sink->sent[1].body, R"({"jsonrpc":"2.0","id":"a","result":[1]})");

  {
    Reply first(sink, {"1"}), second(sink, {"2"});
    first = std::move(second);  // what was in first lives on in second until it ends
    std::move(first).null();
  }
  ASSERT_EQ(sink->sent.size(), 4u);
  EXPECT_EQ(json::parse(sink->sent[2].body),
            (json{{"jsonrpc", "2.0"}, {"id", 2}, {"result", nullptr}}));
  EXPECT_EQ(json::parse(sink->sent[3].body)["id"], 1);
  static_assert(!std::is_copy_constructible_v<Reply> && !std::is_copy_assignable_v<Reply>);
}

TEST(JsonRpc, OutputIsValidWhateverGoesIn) {
  const auto sink = std::make_shared<Recorder>();
  Reply(sink, {"1"}).error(ErrorCode::internal_error, "cut \xf0\x9f in half \xff");
  sink->send(notification("m\xff", {"{}"}));
  sink->send(request("\xc3", "m", {"{}"}));
  sink->send(error_without_id(ErrorCode::parse_error, "\xed\xa0\x80"));
  for (const Outgoing& message : sink->sent)
    EXPECT_TRUE(json::accept(message.body)) << message.body;
}

TEST(JsonRpc, AnAnswerOnATopicKnowsItsSmallForm) {
  const auto sink = std::make_shared<Recorder>();
  Reply(sink, {"\"x\""}).result({"{}"}, "topic");
  EXPECT_EQ(sink->sent[0].topic, "topic");
  EXPECT_EQ(sink->sent[0].small, R"({"jsonrpc":"2.0","id":"x","result":null})");
}

}  // namespace
}  // namespace foretoken::lsp

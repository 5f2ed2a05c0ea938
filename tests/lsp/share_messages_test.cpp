#include "lsp/share_messages.h"

#include <gmock/gmock.h>

#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lsp/cbor.h"

namespace foretoken::lsp::share {
namespace {

using testing::HasSubstr;

/// Members of an aggregate: how many values its braces take.
struct Anything {
  template <class T>
  operator T() const;  // never defined: only asked whether it would do
};
template <class T, class... Values>
constexpr size_t members() {
  if constexpr (requires { T{Values{}..., Anything{}}; }) {
    return members<T, Values..., Anything>();
  } else {
    return sizeof...(Values);
  }
}

engine::Request a_request() {
  engine::Request request;
  request.document = "file:///a.c";
  request.path = "a\xff.c";
  request.cursor = 7;
  request.context = {{"definition", "b.h", "int f();\n"}, {"snippet", "", "\xff"}};
  request.mode = engine::Mode::block;
  request.max_tokens = 33;
  request.priority = engine::Priority::background;
  request.reuse = false;
  request.healing = false;
  request.usual_layout = true;
  request.want_card = request.want_prompt = request.want_hashes = true;
  return request;
}

engine::Timings some_timings() {
  return {.queue_ms = 1.5, .prefill_ms = 2.25, .decode_ms = 3, .post_ms = 4, .ttft_ms = 5,
          .total_ms = 6, .prompt_tokens = 7, .reused_tokens = 8, .new_tokens = 9,
          .output_tokens = 10, .drafted_tokens = 11, .accepted_tokens = 12};
}

engine::Completion a_completion() {
  engine::Completion completion;
  completion.text = std::string("a\0b\xff", 4);
  completion.from_line_start = true;
  completion.finish = engine::Finish::length;
  completion.stop_reason = engine::StopReason::repetition;
  completion.source = engine::Source::in_flight;
  completion.typed = "ty";
  completion.closed = 3;
  completion.cancelled_at = engine::Stage::decode;
  completion.reason = "blank";
  completion.error = "none";
  completion.timings = some_timings();
  completion.card = {{"core", "prefix", "a.c", 1, 2, "full", 3, 4}, {"x", "", "", -5, 0, "", 0, 0}};
  completion.prompt = "p";
  completion.hashes = {0, 23, 24, 255, 256, 65536, ~0ull};
  completion.logprob = -1.25;
  return completion;
}

std::vector<Message> one_of_each() {
  return {Hello{9, "1.2", -3, "vim"}, Ready{"m", "b"}, Refused{"no"}, Answer{1, a_completion()},
          Status{2, "{}"}, Pong{3}, Submit{4, a_request(), {5, 6, 7, "middle"}},
          Observe{a_request(), {1, 2, 3, ""}}, Cancel{8},
          Account{{engine::Source::cache, engine::Finish::eos, engine::Stage::queue,
                   engine::Priority::idle, "blank", some_timings()}},
          AskStatus{10}, Ping{~0ull}};
}

template <class T>
T carried(const T& message) {
  const auto decoded = decode(encode(message));
  EXPECT_TRUE(std::holds_alternative<Message>(decoded));
  return std::get<T>(std::get<Message>(decoded));
}

TEST(ShareMessages, CarryARequest) {
  const engine::Request was = a_request();
  const Submit message = carried(Submit{77, was, {5, 6, 7, std::string("m\0", 2)}});
  const engine::Request& is = message.request;
  EXPECT_EQ(message.id, 77u);
  EXPECT_EQ(is.document, was.document);
  EXPECT_EQ(is.path, was.path);
  EXPECT_EQ(is.cursor, was.cursor);
  EXPECT_EQ(is.mode, was.mode);
  EXPECT_EQ(is.max_tokens, was.max_tokens);
  EXPECT_EQ(is.priority, was.priority);
  EXPECT_FALSE(is.reuse);
  EXPECT_FALSE(is.healing);
  ASSERT_EQ(is.context.size(), 2u);
  EXPECT_EQ(is.context[0].kind, "definition");
  EXPECT_EQ(is.context[0].path, "b.h");
  EXPECT_EQ(is.context[0].text, "int f();\n");
  EXPECT_EQ(is.context[1].text, "\xff");
  EXPECT_TRUE(is.usual_layout && is.want_card && is.want_prompt && is.want_hashes);
  EXPECT_EQ(message.text.base, 5u);
  EXPECT_EQ(message.text.before, 6u);
  EXPECT_EQ(message.text.after, 7u);
  EXPECT_EQ(message.text.middle, std::string("m\0", 2));
}

TEST(ShareMessages, CarryACompletion) {
  const engine::Completion was = a_completion(), is = carried(Answer{1, was}).completion;
  EXPECT_EQ(is.text, was.text);
  EXPECT_TRUE(is.from_line_start);
  EXPECT_EQ(is.finish, was.finish);
  EXPECT_EQ(is.stop_reason, was.stop_reason);
  EXPECT_EQ(is.source, was.source);
  EXPECT_EQ(is.typed, was.typed);
  EXPECT_EQ(is.closed, was.closed);
  EXPECT_EQ(is.cancelled_at, was.cancelled_at);
  EXPECT_EQ(is.reason, was.reason);
  EXPECT_EQ(is.error, was.error);
  EXPECT_EQ(is.prompt, was.prompt);
  EXPECT_EQ(is.hashes, was.hashes);
  EXPECT_EQ(is.logprob, was.logprob);
  EXPECT_EQ(is.timings.queue_ms, 1.5);
  EXPECT_EQ(is.timings.post_ms, 4);
  EXPECT_EQ(is.timings.accepted_tokens, 12);
  ASSERT_EQ(is.card.size(), 2u);
  EXPECT_EQ(is.card[0].rendition, "full");
  EXPECT_EQ(is.card[0].reused, 4);
  EXPECT_EQ(is.card[1].first_line, -5);
}

/// What goes in comes out: every field of every message, as its bytes show.
TEST(ShareMessages, AreTheSameAfterATrip) {
  for (const Message& message : one_of_each()) {
    const std::string bytes = encode(message);
    const auto decoded = decode(bytes);
    ASSERT_TRUE(std::holds_alternative<Message>(decoded)) << message.index();
    EXPECT_EQ(std::get<Message>(decoded).index(), message.index());
    EXPECT_EQ(encode(std::get<Message>(decoded)), bytes) << message.index();
  }
}

/// The number of fields of the struct that `keys` lead to in an encoded message.
size_t fields_at(const Message& message, const std::vector<std::string>& keys) {
  const std::string bytes = encode(message);
  CborReader in(bytes);
  in.array(2);
  in.key();
  size_t left = in.map(1000);
  for (const std::string& wanted : keys) {
    while (left-- > 0 && in.key() != wanted) in.skip();
    left = in.map(1000);
  }
  EXPECT_EQ(in.fault(), nullptr);
  return left;
}

/// A field that is added to a struct and forgotten in its table is found here.
TEST(ShareMessages, CarryEveryMember) {
  EXPECT_EQ(fields_at(Submit{}, {"request"}) + 1, members<engine::Request>());  // text goes beside it
  EXPECT_EQ(fields_at(Answer{}, {"completion"}), members<engine::Completion>());
  EXPECT_EQ(fields_at(Answer{}, {"completion", "timings"}), members<engine::Timings>());
  EXPECT_EQ(fields_at(Account{}, {"cost"}), members<AnswerCost>());
  EXPECT_EQ(fields_at(Submit{}, {"text"}), members<TextChange>());
  engine::Completion completion;
  completion.card.resize(1);
  const std::string bytes = encode(Answer{0, completion});
  CborReader in(std::string_view(bytes).substr(bytes.find("tier") - 2));  // the first row's map
  EXPECT_EQ(in.map(1000), members<engine::CardRow>());
}

TEST(ShareMessages, PassOverFieldsOfOtherVersions) {
  CborWriter out;
  out.array(2);
  out.key("hello");
  out.map(3);
  out.key("colour"), out.array(2), out.map(1), out.key("a"), out.real(1), out.bytes("x");
  out.key("version"), out.bytes("7");
  out.key("flag"), out.flag(true);
  const auto decoded = decode(out.take());
  ASSERT_TRUE(std::holds_alternative<Message>(decoded)) << std::get<std::string>(decoded);
  EXPECT_EQ(std::get<Hello>(std::get<Message>(decoded)).version, "7");
}

std::string fault(const std::string& bytes) {
  const auto decoded = decode(bytes);
  const std::string* what = std::get_if<std::string>(&decoded);
  return what == nullptr ? "" : *what;
}

TEST(ShareMessages, TellWhatIsWrong) {
  EXPECT_THAT(fault(""), HasSubstr("cut short"));
  EXPECT_THAT(fault("GET / HTTP/1.1"), HasSubstr("wrong kind"));
  EXPECT_THAT(fault(encode(Ping{1}) + "x"), HasSubstr("follow"));
  CborWriter kind;
  kind.array(2), kind.key("goodbye"), kind.map(0);
  EXPECT_THAT(fault(kind.take()), HasSubstr("of a kind"));
  const auto with = [](const char* field, auto write) {
    CborWriter out;
    out.array(2), out.key("submit"), out.map(1), out.key("request"), out.map(1), out.key(field);
    write(out);
    return fault(out.take());
  };
  EXPECT_THAT(with("mode", [](CborWriter& w) { w.number(4); }), HasSubstr("choice"));
  EXPECT_THAT(with("mode", [](CborWriter& w) { w.number(256); }), HasSubstr("choice"));
  EXPECT_THAT(with("max_tokens", [](CborWriter& w) { w.number(1ull << 31); }), HasSubstr("too large"));
  EXPECT_THAT(with("cursor", [](CborWriter& w) { w.integer(-1); }), HasSubstr("wrong kind"));
  EXPECT_THAT(with("path", [](CborWriter& w) { w.number(1); }), HasSubstr("wrong kind"));
  EXPECT_THAT(with("reuse", [](CborWriter& w) { w.number(1); }), HasSubstr("wrong kind"));
}

/// Neither depth nor a large number costs anything before the bytes are there.
TEST(ShareMessages, CannotBeMadeToNestOrToReserve) {
  const std::string deep(1 << 20, '\x81');
  EXPECT_NE(fault(deep), "");
  CborWriter out;
  out.array(2), out.key("hello"), out.map(1), out.key("unknown");
  EXPECT_EQ(fault(out.take() + deep + '\0'), "");  // a field that is not known, passed over
  CborWriter strings;
  strings.array(2), strings.key("hello"), strings.map(1), strings.key("unknown");
  EXPECT_NE(fault(strings.take() + std::string(1 << 20, '\x7f')), "");
  CborWriter many;
  many.array(2), many.key("answer"), many.map(1), many.key("completion"), many.map(1);
  many.key("hashes"), many.array(1ull << 40);
  EXPECT_THAT(fault(many.take()), HasSubstr("more items"));
  CborWriter bytes;
  bytes.array(2), bytes.key("refused"), bytes.map(1), bytes.key("why");
  EXPECT_THAT(fault(bytes.take() + "\x5b\x7f\xff\xff\xff\xff\xff\xff\xff"), HasSubstr("cut short"));
}

TEST(ShareMessages, NumbersThatAreNoneBecomeSome) {
  engine::Completion completion;
  completion.logprob = -std::numeric_limits<double>::infinity();
  completion.timings.queue_ms = std::numeric_limits<double>::quiet_NaN();
  const engine::Completion is = carried(Answer{1, completion}).completion;
  EXPECT_EQ(is.logprob, std::numeric_limits<double>::lowest());
  EXPECT_EQ(is.timings.queue_ms, 0);
}

/// Garbage: nothing, cut, changed, and random. What is taken for a message is one.
TEST(ShareMessages, SurviveGarbage) {
  std::mt19937 random(11);
  const auto check = [](const std::string& bytes) {
    const auto decoded = decode(bytes);
    if (const auto* message = std::get_if<Message>(&decoded)) {
      const std::string again = encode(*message);
      const auto twice = decode(again);
      ASSERT_TRUE(std::holds_alternative<Message>(twice));
      EXPECT_EQ(encode(std::get<Message>(twice)), again);
    } else {
      EXPECT_NE(std::get<std::string>(decoded), "");
    }
  };
  for (const Message& message : one_of_each()) {
    const std::string whole = encode(message);
    for (size_t cut = 0; cut < whole.size(); ++cut) {
      EXPECT_NE(fault(whole.substr(0, cut)), "") << message.index() << " cut at " << cut;
    }
    for (int i = 0; i < 3000; ++i) {
      std::string bytes = whole;
      for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      check(bytes);
    }
  }
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    check(bytes);
  }
}

TEST(ShareMessages, RequestsAreChecked) {
  const auto fault_with = [](auto change) {
    engine::Request request = a_request();
    request.text = std::make_shared<std::string>("int x;\n");
    change(request);
    return fault_of(request);
  };
  EXPECT_EQ(fault_with([](engine::Request&) {}), "");
  EXPECT_NE(fault_with([](engine::Request& r) { r.cursor = 8; }), "");
  EXPECT_NE(fault_with([](engine::Request& r) { r.text = nullptr; }), "");
  EXPECT_NE(fault_with([](engine::Request& r) { r.mode = engine::Mode::decide; }), "");
  EXPECT_NE(fault_with([](engine::Request& r) { r.max_tokens = -1; }), "");
  EXPECT_NE(fault_with([](engine::Request& r) { r.max_tokens = 1 << 20; }), "");
  EXPECT_NE(fault_with([](engine::Request& r) { r.path = std::string(1 << 20, 'x'); }), "");
}

}  // namespace
}  // namespace foretoken::lsp::share

#include "lsp/share_messages.h"

#include <algorithm>
#include <concepts>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "lsp/cbor.h"

namespace foretoken::lsp::share {
namespace {

/// Rows of a card, steps of a completion: far above what an engine makes, and no great memory.
constexpr size_t kMostItems = 65536;
constexpr size_t kMostFields = 64;
constexpr size_t kLongestName = 64u << 10;

// The tables: a line per struct, a name per field. A field that a message lacks keeps its default,
// one that is not known is passed over.

template <class V>
void fields(V& v, engine::Request& s) {  // text: as a TextChange beside it
  v("document", s.document), v("path", s.path), v("cursor", s.cursor), v("mode", s.mode);
  v("context", s.context);
  v("max_tokens", s.max_tokens), v("priority", s.priority), v("reuse", s.reuse);
  v("healing", s.healing), v("usual_layout", s.usual_layout), v("want_card", s.want_card);
  v("want_prompt", s.want_prompt), v("want_hashes", s.want_hashes);
}

template <class V>
void fields(V& v, engine::ContextItem& s) {
  v("kind", s.kind), v("path", s.path), v("text", s.text);
}

template <class V>
void fields(V& v, engine::Completion& s) {
  v("text", s.text), v("from_line_start", s.from_line_start), v("finish", s.finish);
  v("stop_reason", s.stop_reason), v("source", s.source), v("cancelled_at", s.cancelled_at);
  v("typed", s.typed), v("closed", s.closed);
  v("reason", s.reason), v("error", s.error), v("timings", s.timings), v("card", s.card);
  v("prompt", s.prompt), v("hashes", s.hashes), v("logprob", s.logprob);
}

template <class V>
void fields(V& v, engine::Timings& s) {
  v("queue_ms", s.queue_ms), v("prefill_ms", s.prefill_ms), v("decode_ms", s.decode_ms);
  v("post_ms", s.post_ms), v("ttft_ms", s.ttft_ms), v("total_ms", s.total_ms);
  v("prompt_tokens", s.prompt_tokens), v("reused_tokens", s.reused_tokens);
  v("new_tokens", s.new_tokens), v("output_tokens", s.output_tokens);
  v("drafted_tokens", s.drafted_tokens), v("accepted_tokens", s.accepted_tokens);
}

template <class V>
void fields(V& v, engine::CardRow& s) {
  v("tier", s.tier), v("kind", s.kind), v("path", s.path), v("first_line", s.first_line);
  v("last_line", s.last_line), v("rendition", s.rendition), v("tokens", s.tokens);
  v("reused", s.reused);
}

template <class V>
void fields(V& v, AnswerCost& s) {
  v("source", s.source), v("finish", s.finish), v("cancelled_at", s.cancelled_at);
  v("priority", s.priority), v("reason", s.reason), v("timings", s.timings);
}

template <class V>
void fields(V& v, TextChange& s) {
  v("base", s.base), v("before", s.before), v("after", s.after), v("middle", s.middle);
}

template <class V>
void fields(V& v, Hello& s) {
  v("protocol", s.protocol), v("version", s.version), v("pid", s.pid), v("name", s.name);
}
template <class V>
void fields(V& v, Ready& s) { v("model", s.model), v("backend", s.backend); }
template <class V>
void fields(V& v, Refused& s) { v("why", s.why); }
template <class V>
void fields(V& v, Answer& s) { v("id", s.id), v("completion", s.completion); }
template <class V>
void fields(V& v, Status& s) { v("id", s.id), v("json", s.json); }
template <class V>
void fields(V& v, Submit& s) { v("id", s.id), v("request", s.request), v("text", s.text); }
template <class V>
void fields(V& v, Observe& s) { v("request", s.request), v("text", s.text); }
template <class V>
void fields(V& v, Account& s) { v("cost", s.cost); }

template <class S>
concept IsOnlyAnId = std::same_as<S, Pong> || std::same_as<S, Cancel> || std::same_as<S, AskStatus> ||
                     std::same_as<S, Ping>;
template <class V, IsOnlyAnId S>
void fields(V& v, S& s) { v("id", s.id); }

constexpr const char* kKinds[] = {"hello",  "ready",   "refused", "answer",  "status",     "pong",
                                  "submit", "observe", "cancel",  "account", "ask_status", "ping"};
static_assert(std::size(kKinds) == std::variant_size_v<Message>);

struct Counter {
  size_t fields = 0;
  template <class T>
  void operator()(const char*, T&) { ++fields; }
};

struct Writer {
  CborWriter& out;

  template <class T>
  void operator()(const char* name, T& value) {
    out.key(name);
    put(value);
  }
  void put(std::string& value) { out.bytes(value); }
  void put(bool& value) { out.flag(value); }
  void put(double& value) { out.real(value); }
  template <class T>
  void put(std::vector<T>& items) {
    const size_t count = std::min(items.size(), kMostItems);
    out.array(count);
    for (size_t i = 0; i < count; ++i) put(items[i]);
  }
  template <class T>
  void put(T& value) {
    if constexpr (std::is_enum_v<T>) {
      out.number(static_cast<uint64_t>(value));
    } else if constexpr (std::signed_integral<T>) {
      out.integer(value);
    } else if constexpr (std::unsigned_integral<T>) {
      out.number(value);
    } else {
      Counter counter;
      fields(counter, value);
      out.map(counter.fields);
      fields(*this, value);
    }
  }
};

struct Reader {
  CborReader& in;

  void get(std::string& value) { value = in.bytes(); }
  void get(bool& value) { value = in.flag(); }
  void get(double& value) { value = in.real(); }
  template <class T>
  void get(std::vector<T>& items) {
    items.clear();
    for (size_t left = in.array(kMostItems); left > 0 && in.fault() == nullptr; --left) {
      get(items.emplace_back());
    }
  }
  template <class T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T>) {
      const uint64_t number = in.number();
      const bool known = number <= std::numeric_limits<std::underlying_type_t<T>>::max() &&
                         engine::name(static_cast<T>(number)) != std::string_view("unknown");
      if (!known) return in.fail("a message names a choice that there is not");
      value = static_cast<T>(number);
    } else if constexpr (std::signed_integral<T>) {
      const int64_t number = in.integer();
      if (!std::in_range<T>(number)) return in.fail("a number in a message is too large");
      value = static_cast<T>(number);
    } else if constexpr (std::unsigned_integral<T>) {
      value = in.number();
      static_assert(sizeof(T) == sizeof(uint64_t));
    } else {
      get_struct(value);
    }
  }

  /// Calls the struct's table for each key and reads the one field that has its name.
  template <class T>
  void get_struct(T& value) {
    for (size_t left = in.map(kMostFields); left > 0 && in.fault() == nullptr; --left) {
      Field field{*this, in.key()};
      if (in.fault() != nullptr) return;
      fields(field, value);
      if (!field.found) in.skip();
    }
  }
  struct Field {
    Reader& reader;
    std::string_view key;
    bool found = false;
    template <class T>
    void operator()(const char* name, T& value) {
      if (found || key != name) return;
      found = true;
      reader.get(value);
    }
  };
};

template <size_t I = 0>
void read_kind(std::string_view kind, CborReader& in, Message* message) {
  if constexpr (I == std::variant_size_v<Message>) {
    in.fail("a message of a kind that there is not");
  } else if (kind == kKinds[I]) {
    Reader{in}.get(message->emplace<I>());
  } else {
    read_kind<I + 1>(kind, in, message);
  }
}

}  // namespace

std::string encode(const Message& message) {
  CborWriter out;
  out.array(2);
  out.key(kKinds[message.index()]);
  // The tables serve reading too and so take what may be changed; a Writer changes nothing.
  std::visit([&](const auto& body) { Writer{out}.put(const_cast<std::remove_cvref_t<decltype(body)>&>(body)); },
             message);
  return out.take();
}

std::variant<Message, std::string> decode(std::string_view bytes) {
  CborReader in(bytes);
  Message message;
  if (in.array(2) != 2) in.fail("not a message");
  read_kind(in.key(), in, &message);
  if (in.fault() == nullptr && !in.at_end()) in.fail("bytes follow a message");
  if (in.fault() != nullptr) return std::string(in.fault());
  return message;
}

std::string fault_of(const engine::Request& request) {
  if (request.document.size() > kLongestName || request.path.size() > kLongestName) {
    return "the name of a document is too long";
  }
  if (request.text == nullptr || request.cursor > request.text->size()) {
    return "a cursor stands behind the end of its text";
  }
  if (request.mode == engine::Mode::decide) return "a request leaves its mode open";
  if (request.max_tokens < 0 || request.max_tokens > 65536) {
    return "a request wants fewer than 0 or more than 65536 tokens";
  }
  return "";
}

}  // namespace foretoken::lsp::share

// What processes that share an engine say to each other, and how it looks in bytes: a frame
// (lsp/framing) around a CBOR array [kind, {field: value…}]. The tables in share_messages.cpp name
// every field once. The peer is not trusted: what decode() returns has been checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "engine/request.h"
#include "lsp/metrics.h"
#include "lsp/share_texts.h"

namespace foretoken::lsp::share {

/// Raised whenever a message changes its meaning; fields may come and go without.
inline constexpr uint64_t kProtocol = 1;

/// The name of one who only looks.
inline constexpr char kStatusName[] = "foretoken status";

/// The first message, both ways. Stays readable for every version, older and newer.
struct Hello {
  uint64_t protocol = kProtocol;
  std::string version;
  int64_t pid = 0;
  std::string name;  // for people: the editor, as far as it is known
};

// From the owner.
struct Ready {
  std::string model, backend;  // the model is loaded; requests may come
};
struct Refused {
  std::string why;  // the last message before the owner closes
};
struct Answer {
  uint64_t id = 0;
  engine::Completion completion;
};
struct Status {
  uint64_t id = 0;
  std::string json;
};
struct Pong {
  uint64_t id = 0;
};

// From the others. `id` is theirs to choose.
struct Submit {
  uint64_t id = 0;
  engine::Request request;
  TextChange text;  // on the way; share_connection puts it in place of request.text and back
};
struct Observe {
  engine::Request request;
  TextChange text;
};
struct Cancel {
  uint64_t id = 0;
};
struct Account {
  AnswerCost cost;
};
struct AskStatus {
  uint64_t id = 0;
};
struct Ping {
  uint64_t id = 0;
};

using Message = std::variant<Hello, Ready, Refused, Answer, Status, Pong, Submit, Observe, Cancel,
                             Account, AskStatus, Ping>;

std::string encode(const Message& message);

/// The message, or what is wrong with the bytes.
std::variant<Message, std::string> decode(std::string_view bytes);

/// "" where the engine may be asked this, else what is wrong. `request.text` is in place.
std::string fault_of(const engine::Request& request);

}  // namespace foretoken::lsp::share

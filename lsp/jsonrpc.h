// JSON-RPC 2.0 as LSP uses it: strict envelopes, exactly one reply per request. The values inside
// are protocol's business; no header of this room needs the JSON library's full text.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "lsp/outbox.h"

namespace foretoken::lsp {

enum class ErrorCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  server_not_initialized = -32002,
  request_cancelled = -32800,
};

/// A request id as its JSON text, so that it goes back as it came: `7`, `"7"`.
struct RequestId {
  std::string json;
  auto operator<=>(const RequestId&) const = default;
};

/// A JSON text that is valid and valid UTF-8, made by protocol.
struct Payload {
  std::string json;
};
Payload null_payload();

/// The params or the result of a message; absent and null are the same. Immutable, shared.
class Value {
 public:
  Value() = default;
  explicit Value(nlohmann::json value);
  const nlohmann::json& get() const;  // null where there is none

 private:
  std::shared_ptr<const nlohmann::json> value_;
};

/// One message from the client.
struct Request {
  RequestId id;
  std::string method;
  Value params;
};
struct Notification {
  std::string method;
  Value params;
};
struct Response {  // to a request of ours
  std::string id;
  Value result;
  std::optional<std::string> error;
};
/// Not a message: `id` is known where the fault left it readable.
struct Malformed {
  std::optional<RequestId> id;
  ErrorCode code;
  std::string what;
};
using Message = std::variant<Request, Notification, Response, Malformed>;

struct JsonLimits {
  int depth = 256;
  size_t id_bytes = 1024;
};

/// Never throws, never recurses: any bytes give one Message.
Message parse_message(std::string_view body, JsonLimits limits = {});

/// The answer to one request, and the only way to give one. Destroyed unanswered it answers
/// -32603, so that no request is ever forgotten. Front thread.
class Reply {
 public:
  Reply(std::shared_ptr<Sink> sink, RequestId id) : sink_(std::move(sink)), id_(std::move(id)) {}
  Reply(Reply&&) noexcept = default;
  Reply& operator=(Reply&& other) noexcept;
  Reply(const Reply&) = delete;
  ~Reply();

  const RequestId& id() const { return id_; }
  bool pending() const { return sink_ != nullptr; }

  void result(const Payload& payload) && { std::move(*this).result(payload, {}); }
  /// On a topic, a later answer makes this one obsolete while it waits to be written: it becomes
  /// null.
  void result(const Payload& payload, std::string topic) &&;
  void null() && { std::move(*this).result(null_payload()); }
  void error(ErrorCode code, std::string_view what) &&;

 private:
  void send(Outgoing message);

  std::shared_ptr<Sink> sink_;  // null once answered
  RequestId id_;
};

Outgoing notification(std::string_view method, const Payload& params);
Outgoing request(std::string_view id, std::string_view method, const Payload& params);
/// For what cannot be attributed to a request.
Outgoing error_without_id(ErrorCode code, std::string_view what);

}  // namespace foretoken::lsp

#include "lsp/jsonrpc.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace foretoken::lsp {
namespace {

using nlohmann::json;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Offset of the first bracket that nests deeper than `limit`. Brackets in strings do not count;
/// what is not JSON is the parser's to judge.
std::optional<size_t> too_deep(std::string_view text, int limit) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > limit) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::nullopt;
}

Malformed invalid(std::optional<RequestId> id, std::string what) {
  return {std::move(id), ErrorCode::invalid_request, std::move(what)};
}

/// What the parser says without the excerpt of the text it adds.
Malformed not_json(std::string what) {
  return {std::nullopt, ErrorCode::parse_error, std::move(what)};
}

std::string envelope(std::string_view id, std::string_view member, std::string_view value) {
  std::string out = R"({"jsonrpc":"2.0","id":)";
  out.append(id).append(",\"").append(member).append("\":").append(value).append("}");
  return out;
}

std::string error_object(ErrorCode code, std::string_view what) {
  return dump({{"code", static_cast<int>(code)}, {"message", what}});
}

Message envelope_of(json& root, const JsonLimits& limits) {
  if (root.is_array())
    return invalid({}, "batches are not part of LSP; send one message per frame");
  if (!root.is_object()) return invalid({}, "a message is a JSON object");

  std::optional<RequestId> id;
  const auto id_at = root.find("id");
  const bool has_id = id_at != root.end();
  if (has_id && (id_at->is_number_integer() || id_at->is_string())) {
    id = RequestId{dump(*id_at)};
    if (id->json.size() > limits.id_bytes) {
      return invalid({}, "the id is longer than " + std::to_string(limits.id_bytes) + " bytes");
    }
  }
  if (has_id && !id) {
    // A peer answers null where it could not read our id; there is nobody to tell.
    return invalid({}, "the id is neither a whole number nor a string");
  }
  const auto version = root.find("jsonrpc");
  if (version == root.end() || !version->is_string() ||
      version->get_ref<const std::string&>() != "2.0") {
    return invalid(id, "\"jsonrpc\" is not \"2.0\"");
  }

  const auto method = root.find("method");
  if (method != root.end()) {
    if (!method->is_string()) return invalid(id, "\"method\" is not a string");
    Value params;
    if (const auto at = root.find("params"); at != root.end() && !at->is_null()) {
      if (!at->is_structured()) return invalid(id, "\"params\" is neither an object nor an array");
      params = Value(std::move(*at));
    }
    std::string name = std::move(method->get_ref<std::string&>());
    if (id) return Request{std::move(*id), std::move(name), std::move(params)};
    return Notification{std::move(name), std::move(params)};
  }

  const auto error = root.find("error");
  const auto result = root.find("result");
  if (!id || (error == root.end() && result == root.end())) {
    return invalid(id, "the message has no \"method\"");
  }
  Response response;
  if (id_at->is_string()) response.id = id_at->get<std::string>();  // ours are strings
  if (error != root.end() && error->is_object()) {
    const auto what = error->find("message");
    response.error = what != error->end() && what->is_string() ? what->get<std::string>() : "error";
  } else if (result != root.end()) {
    response.result = Value(std::move(*result));
  }
  return response;
}

}  // namespace

Payload null_payload() {
  return {"null"};
}

Value::Value(json value) : value_(std::make_shared<const json>(std::move(value))) {}

const json& Value::get() const {
  static const json kNull;
  return value_ ? *value_ : kNull;
}

Message parse_message(std::string_view body, JsonLimits limits) {
  if (const auto at = too_deep(body, limits.depth)) {
    return not_json("byte " + std::to_string(*at) + ": nested deeper than " +
                    std::to_string(limits.depth));
  }
  try {
    json root = json::parse(body);  // keeps its own stack, so depth is no danger; see too_deep
    return envelope_of(root, limits);
  } catch (const json::parse_error& error) {
    return not_json("byte " + std::to_string(error.byte) + ": not JSON in UTF-8");
  } catch (const json::out_of_range&) {
    return not_json("a number is out of range");
  } catch (const json::exception&) {
    return not_json("not a message");
  }
}

Reply& Reply::operator=(Reply&& other) noexcept {
  std::swap(sink_, other.sink_);
  std::swap(id_, other.id_);
  return *this;
}

Reply::~Reply() {
  if (pending()) std::move(*this).error(ErrorCode::internal_error, "the request was dropped");
}

void Reply::result(const Payload& payload, std::string topic) && {
  Outgoing message{envelope(id_.json, "result", payload.json)};
  if (!topic.empty()) {
    message.topic = std::move(topic);
    message.small = envelope(id_.json, "result", "null");
  }
  send(std::move(message));
}

void Reply::error(ErrorCode code, std::string_view what) && {
  send({envelope(id_.json, "error", error_object(code, what))});
}

void Reply::send(Outgoing message) {
  if (const auto sink = std::exchange(sink_, nullptr)) sink->send(std::move(message));
}

Outgoing notification(std::string_view method, const Payload& params) {
  return {R"({"jsonrpc":"2.0","method":)" + dump(method) + ",\"params\":" + params.json + "}"};
}

Outgoing request(std::string_view id, std::string_view method, const Payload& params) {
  return {R"({"jsonrpc":"2.0","id":)" + dump(id) + ",\"method\":" + dump(method) +
          ",\"params\":" + params.json + "}"};
}

Outgoing error_without_id(ErrorCode code, std::string_view what) {
  return {envelope("null", "error", error_object(code, what))};
}

}  // namespace foretoken::lsp

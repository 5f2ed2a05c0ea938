// From structs to JSON text.
#include "lsp/protocol.h"

#include <nlohmann/json.hpp>

namespace foretoken::lsp {
namespace {

using nlohmann::json;

Payload payload(const json& value) {
  return {value.dump(-1, ' ', false, json::error_handler_t::replace)};
}

json to_json(const Position& at) {
  return {{"line", at.line}, {"character", at.character}};
}

json to_json(const Range& range) {
  return {{"start", to_json(range.start)}, {"end", to_json(range.end)}};
}

}  // namespace

Payload initialize_result(PositionEncoding encoding, std::string_view version) {
  return payload({
      {"serverInfo", {{"name", "foretoken"}, {"version", version}}},
      {"capabilities",
       {
           {"positionEncoding", name(encoding)},
           {"textDocumentSync",
            {{"openClose", true}, {"change", 2}, {"save", {{"includeText", false}}}}},
           // Not {}: clients that read objects as property lists take an empty one for "no".
           {"inlineCompletionProvider", {{"workDoneProgress", false}}},
           {"executeCommandProvider", {{"commands", json::array({kAcceptCommand})}}},
           {"workspace",
            {{"workspaceFolders", {{"supported", true}, {"changeNotifications", true}}}}},
       }},
  });
}

Payload inline_items(const std::vector<InlineItem>& items) {
  json list = json::array();
  for (const InlineItem& item : items) {
    list.push_back({
        {"insertText", item.text},
        {"range", to_json(item.range)},
        {"command",
         {{"title", "Accept the completion"},
          {"command", kAcceptCommand},
          {"arguments", json::array({item.id})}}},
    });
  }
  return payload({{"items", std::move(list)}});
}

Payload configuration_request() {
  return payload({{"items", json::array({{{"section", kSettingsSection}}})}});
}

Payload registration_request() {
  return payload(
      {{"registrations", json::array({{{"id", "foretoken-configuration"},
                                       {"method", "workspace/didChangeConfiguration"},
                                       {"registerOptions", {{"section", kSettingsSection}}}}})}});
}

Payload message_params(int type, std::string_view text) {
  return payload({{"type", type}, {"message", text}});
}

Payload status_params(bool busy, std::string_view kind, std::string_view message) {
  return payload({{"busy", busy}, {"kind", kind}, {"message", message}});
}

Payload status_payload(const ServerStatus& status) {
  return payload({
      {"model", status.model},
      {"requests", status.requests},
      {"answered", status.answered},
      {"empty", status.empty},
      {"cancelled", status.cancelled},
      {"superseded", status.superseded},
      {"in_flight", status.in_flight},
      {"shown", status.shown},
      {"accepted", status.accepted},
      {"partly_accepted", status.partly_accepted},
      {"open_documents", status.open_documents},
  });
}

Payload memory_payload(uint64_t rss_bytes, uint64_t heap_bytes) {
  return payload({{"rss_bytes", rss_bytes}, {"heap_bytes", heap_bytes}});
}

Payload document_hash_payload(std::string_view sha256, const Snapshot& document) {
  return payload({{"sha256", sha256},
                  {"bytes", document.text().size()},
                  {"version", document.version()},
                  {"in_sync", document.in_sync()}});
}

Payload text_payload(std::string_view text) {
  return payload(text);
}

Payload object_payload(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  json object = json::object();
  for (const auto& [key, value] : members) object[std::string(key)] = value;
  return payload(object);
}

Payload empty_list_payload(std::string_view member) {
  return payload({{std::string(member), json::array()}});
}

}  // namespace foretoken::lsp

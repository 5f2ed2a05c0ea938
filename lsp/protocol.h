// The messages we use as plain structs. JSON stops here: parse_* turns params into a struct or
// names the field that is wrong, payload makers turn structs into JSON text. Pure.
//
// Strict about what we read, tolerant about what we do not: unknown members, capabilities and
// settings of other shapes never make a message fail.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/completion.h"
#include "lsp/documents.h"
#include "lsp/jsonrpc.h"
#include "lsp/text.h"

namespace foretoken::lsp {

inline constexpr std::string_view kAcceptCommand = "foretoken.didAcceptCompletionItem";
inline constexpr std::string_view kSettingsSection = "foretoken";

/// "textDocument.uri: expected a string"
struct ParamError {
  std::string what;
};
template <class T>
using Parsed = std::variant<T, ParamError>;

/// What a client's settings may change. Never which model or which host: settings can come from a
/// repository.
struct Settings {
  bool enabled = true;
  engine::Mode mode = engine::Mode::decide;
  int max_tokens = 0;  // 0: the mode's default
  bool operator==(const Settings&) const = default;
};
struct SettingsChange {
  std::optional<bool> enabled;
  std::optional<engine::Mode> mode;
  std::optional<int> max_tokens;
  std::vector<std::string> problems;  // settings of ours that have a wrong shape
  void apply_to(Settings* settings) const;
};

struct InitializeParams {
  std::optional<int64_t> process_id;
  std::string client;                       // "Neovim 0.12.4"
  std::vector<std::string> folders;         // workspaceFolders, else rootUri, else rootPath
  std::vector<PositionEncoding> encodings;  // those offered that we know, in the client's order
  std::string encoding_wish;                // initializationOptions.positionEncoding
  SettingsChange settings;                  // from initializationOptions
  bool copilot_style = false;               // names an editor plugin: knows status notifications
  bool configuration = false;               // answers workspace/configuration
  bool register_configuration = false;      // wants didChangeConfiguration registered
};

struct DocumentOpened {
  std::string uri, language, text;
  int64_t version = 0;
};
struct DocumentChanged {
  std::string uri;
  int64_t version = 0;
  std::vector<ContentChange> changes;
};
struct DocumentSaved {
  std::string uri;
  std::optional<std::string> text;
};
struct SelectedCompletion {
  Range range;
  std::string text;
};
struct InlineCompletionParams {
  std::string uri;
  Position position;
  bool invoked = false;
  std::optional<SelectedCompletion> selected;
};
struct Command {
  std::string name;
  std::string item;  // its first argument, where that is a string
};
struct FoldersChange {
  std::vector<std::string> added, removed;
};

Parsed<InitializeParams> parse_initialize(const Value& params);
Parsed<DocumentOpened> parse_did_open(const Value& params);
Parsed<DocumentChanged> parse_did_change(const Value& params);
Parsed<DocumentSaved> parse_did_save(const Value& params);
Parsed<InlineCompletionParams> parse_inline_completion(const Value& params);
Parsed<Command> parse_execute_command(const Value& params);
Parsed<FoldersChange> parse_folders_change(const Value& params);
Parsed<std::string> parse_document_uri(const Value& params);  // {textDocument:{uri}}
Parsed<std::string> parse_uri(const Value& params);           // {uri}
Parsed<std::string> parse_shown_item(const Value& params);    // {item:{command:{arguments:[id]}}}
Parsed<std::string> parse_trace(const Value& params);         // {value}
Parsed<RequestId> parse_cancel(const Value& params);          // {id}
/// Params of which only the shape counts: an object, or none.
Parsed<std::monostate> parse_anything(const Value& params);

/// The uri of a message whose other params are wrong; "" if even that is unreadable.
std::string salvage_document_uri(const Value& params);

/// `value`: a whole settings object or our section of it. Never fails.
SettingsChange parse_settings(const Value& value);
/// workspace/didChangeConfiguration: {settings}.
SettingsChange parse_pushed_settings(const Value& params);
/// The answer to workspace/configuration for one section.
SettingsChange parse_pulled_settings(const Value& result);

struct InlineItem {
  std::string text;
  Range range;
  std::string id;  // of the accept command
};
struct ServerStatus {
  std::string model;  // "loading", "ready", "failed"
  uint64_t requests = 0, answered = 0, empty = 0, cancelled = 0, superseded = 0, in_flight = 0;
  uint64_t shown = 0, accepted = 0, partly_accepted = 0;
  uint64_t open_documents = 0;
};

Payload initialize_result(PositionEncoding encoding, std::string_view version);
Payload inline_items(const std::vector<InlineItem>& items);
Payload configuration_request();
Payload registration_request();
Payload message_params(int type, std::string_view text);  // window/showMessage: 1 error … 4 log
Payload status_params(bool busy, std::string_view kind, std::string_view message);
Payload status_payload(const ServerStatus& status);
Payload memory_payload(uint64_t rss_bytes, uint64_t heap_bytes);
Payload document_hash_payload(std::string_view sha256, const Snapshot& document);
Payload text_payload(std::string_view text);
Payload object_payload(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members);
Payload empty_list_payload(std::string_view member);

}  // namespace foretoken::lsp

// From params to structs.
#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "lsp/protocol.h"

namespace foretoken::lsp {
namespace {

using nlohmann::json;

/// A value and where it stands, so that an error can name it. Throws ParamError within this file.
class Field {
 public:
  Field(const json& value, std::string path) : value_(value), path_(std::move(path)) {}

  [[noreturn]] void fail(const char* expected) const {
    throw ParamError{(path_.empty() ? "params" : path_) + ": expected " + expected};
  }
  const json& object() const {
    if (!value_.is_object()) fail("an object");
    return value_;
  }
  /// Absent and null are the same.
  std::optional<Field> find(const char* key) const {
    const auto at = object().find(key);
    if (at == value_.end() || at->is_null()) return std::nullopt;
    return Field(*at, path_of(key));
  }
  Field get(const char* key) const {
    if (auto field = find(key)) return *field;
    Field(value_, path_of(key)).fail("a value");
  }
  std::vector<Field> items() const {
    if (!value_.is_array()) fail("an array");
    std::vector<Field> out;
    for (size_t i = 0; i < value_.size(); ++i) {
      out.emplace_back(value_[i], path_ + "[" + std::to_string(i) + "]");
    }
    return out;
  }
  const std::string& text() const {
    if (!value_.is_string()) fail("a string");
    return value_.get_ref<const std::string&>();
  }
  int64_t integer() const {
    if (!value_.is_number_integer()) fail("an integer");
    if (value_.is_number_unsigned()) {
      constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
      return static_cast<int64_t>(std::min(value_.get<uint64_t>(), kMost));
    }
    return value_.get<int64_t>();
  }
  bool boolean() const {
    if (!value_.is_boolean()) fail("true or false");
    return value_.get<bool>();
  }
  const json& value() const { return value_; }

 private:
  std::string path_of(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

  const json& value_;
  std::string path_;
};

template <class T, class Read>
Parsed<T> parse(const Value& params, Read read) {
  try {
    return read(Field(params.get(), ""));
  } catch (ParamError& error) {
    return std::move(error);
  }
}

uint32_t coordinate(const Field& field) {  // clients send 1e6 and INT_MAX for "the end"
  const int64_t value = field.integer();
  if (value < 0) field.fail("a whole number from 0");
  return static_cast<uint32_t>(std::min<int64_t>(value, std::numeric_limits<uint32_t>::max()));
}

Position position(const Field& field) {
  return {coordinate(field.get("line")), coordinate(field.get("character"))};
}

Range range(const Field& field) {
  return {position(field.get("start")), position(field.get("end"))};
}

std::string optional_text(const Field& parent, const char* key) {
  const auto field = parent.find(key);
  return field ? field->text() : "";
}

int64_t version_of(const Field& document) {  // null and missing happen
  const auto field = document.find("version");
  return field ? field->integer() : 0;
}

std::string document_uri(const Field& params) {
  return params.get("textDocument").get("uri").text();
}

std::vector<std::string> folder_uris(const Field& list) {
  std::vector<std::string> uris;
  for (const Field& folder : list.items()) uris.push_back(folder.get("uri").text());
  return uris;
}

/// The first argument, where there is one and it is a string.
std::string first_argument(const Field& command) {
  const auto arguments = command.find("arguments");
  if (!arguments) return "";
  const auto items = arguments->items();
  return !items.empty() && items[0].value().is_string() ? items[0].text() : "";
}

/// Tolerant look-up for open-ended objects: false where anything on the way is not there.
bool flag(const json& value, std::initializer_list<const char*> path) {
  const json* at = &value;
  for (const char* key : path) {
    if (!at->is_object()) return false;
    const auto found = at->find(key);
    if (found == at->end()) return false;
    at = &*found;
  }
  return at->is_boolean() && at->get<bool>();
}

std::vector<PositionEncoding> offered_encodings(const json& capabilities) {
  std::vector<PositionEncoding> out;
  const auto general = capabilities.find("general");
  if (general == capabilities.end() || !general->is_object()) return out;
  const auto list = general->find("positionEncodings");
  if (list == general->end() || !list->is_array()) return out;
  for (const json& entry : *list) {
    for (const auto known :
         {PositionEncoding::utf8, PositionEncoding::utf16, PositionEncoding::utf32}) {
      if (entry == name(known)) out.push_back(known);
    }
  }
  return out;
}

InitializeParams initialize(const Field& params) {
  InitializeParams out;
  if (const auto process = params.find("processId")) out.process_id = process->integer();
  if (const auto client = params.find("clientInfo")) {
    out.client = optional_text(*client, "name") + " " + optional_text(*client, "version");
  }
  const auto folders = params.find("workspaceFolders");
  const auto root_uri = params.find("rootUri");
  const auto root_path = params.find("rootPath");
  if (folders) out.folders = folder_uris(*folders);
  if (out.folders.empty() && root_uri) out.folders = {root_uri->text()};
  if (out.folders.empty() && root_path) out.folders = {uri_of_path(root_path->text())};
  if (const auto capabilities = params.find("capabilities")) {
    const json& value = capabilities->object();
    out.encodings = offered_encodings(value);
    out.configuration = flag(value, {"workspace", "configuration"});
    out.register_configuration =
        flag(value, {"workspace", "didChangeConfiguration", "dynamicRegistration"});
  }
  if (const auto options = params.find("initializationOptions");
      options && options->value().is_object()) {
    const json& value = options->value();
    out.copilot_style = value.contains("editorPluginInfo");
    if (const auto wish = value.find("positionEncoding");
        wish != value.end() && wish->is_string()) {
      out.encoding_wish = wish->get<std::string>();
    }
    out.settings = parse_settings(Value(value));
  }
  return out;
}

InlineCompletionParams inline_completion(const Field& params) {
  InlineCompletionParams out;
  out.uri = document_uri(params);
  out.position = position(params.get("position"));
  if (const auto context = params.find("context")) {
    if (const auto kind = context->find("triggerKind")) out.invoked = kind->integer() == 1;
    if (const auto selected = context->find("selectedCompletionInfo")) {
      out.selected =
          SelectedCompletion{range(selected->get("range")), selected->get("text").text()};
    }
  }
  return out;
}

std::optional<engine::Mode> mode_named(std::string_view text) {
  for (const auto mode :
       {engine::Mode::decide, engine::Mode::word, engine::Mode::line, engine::Mode::block}) {
    if (text == engine::name(mode)) return mode;
  }
  return std::nullopt;
}

}  // namespace

Parsed<InitializeParams> parse_initialize(const Value& params) {
  return parse<InitializeParams>(params, initialize);
}

Parsed<DocumentOpened> parse_did_open(const Value& params) {
  return parse<DocumentOpened>(params, [](const Field& field) {
    const Field document = field.get("textDocument");
    return DocumentOpened{document.get("uri").text(), optional_text(document, "languageId"),
                          document.get("text").text(), version_of(document)};
  });
}

Parsed<DocumentChanged> parse_did_change(const Value& params) {
  return parse<DocumentChanged>(params, [](const Field& field) {
    DocumentChanged out{document_uri(field), version_of(field.get("textDocument")), {}};
    for (const Field& change : field.get("contentChanges").items()) {
      const auto where = change.find("range");  // rangeLength is wrong in practice: ignored
      out.changes.push_back(
          {where ? std::optional(range(*where)) : std::nullopt, change.get("text").text()});
    }
    return out;
  });
}

Parsed<DocumentSaved> parse_did_save(const Value& params) {
  return parse<DocumentSaved>(params, [](const Field& field) {
    DocumentSaved out{document_uri(field), std::nullopt};
    if (const auto text = field.find("text")) out.text = text->text();
    return out;
  });
}

Parsed<InlineCompletionParams> parse_inline_completion(const Value& params) {
  return parse<InlineCompletionParams>(params, inline_completion);
}

Parsed<Command> parse_execute_command(const Value& params) {
  return parse<Command>(params, [](const Field& field) {
    return Command{field.get("command").text(), first_argument(field)};
  });
}

Parsed<FoldersChange> parse_folders_change(const Value& params) {
  return parse<FoldersChange>(params, [](const Field& field) {
    const Field event = field.get("event");
    FoldersChange out;
    if (const auto added = event.find("added")) out.added = folder_uris(*added);
    if (const auto removed = event.find("removed")) out.removed = folder_uris(*removed);
    return out;
  });
}

Parsed<std::string> parse_document_uri(const Value& params) {
  return parse<std::string>(params, document_uri);
}

Parsed<std::string> parse_uri(const Value& params) {
  return parse<std::string>(params, [](const Field& field) { return field.get("uri").text(); });
}

Parsed<std::string> parse_shown_item(const Value& params) {
  return parse<std::string>(params, [](const Field& field) {
    const auto command = field.get("item").find("command");
    return command ? first_argument(*command) : std::string();
  });
}

Parsed<std::string> parse_trace(const Value& params) {
  return parse<std::string>(params, [](const Field& field) { return field.get("value").text(); });
}

Parsed<RequestId> parse_cancel(const Value& params) {
  return parse<RequestId>(params, [](const Field& field) {
    const Field id = field.get("id");
    if (!id.value().is_number_integer() && !id.value().is_string())
      id.fail("an integer or a string");
    return RequestId{id.value().dump(-1, ' ', false, json::error_handler_t::replace)};
  });
}

Parsed<std::monostate> parse_anything(const Value& params) {
  const json& value = params.get();
  if (value.is_null() || value.is_object() || (value.is_array() && value.empty()))
    return std::monostate();
  return ParamError{"params: expected an object"};
}

std::string salvage_document_uri(const Value& params) {
  const auto uri = parse_document_uri(params);
  const auto* text = std::get_if<std::string>(&uri);
  return text != nullptr ? *text : "";
}

void SettingsChange::apply_to(Settings* settings) const {
  settings->enabled = enabled.value_or(settings->enabled);
  settings->mode = mode.value_or(settings->mode);
  settings->max_tokens = max_tokens.value_or(settings->max_tokens);
}

SettingsChange parse_settings(const Value& value) {
  SettingsChange out;
  const json* object = &value.get();
  if (!object->is_object()) return out;
  if (const auto section = object->find(kSettingsSection); section != object->end())
    object = &*section;
  if (!object->is_object()) return out;
  const auto read = [&](const char* key, auto&& take) {
    const auto at = object->find(key);
    if (at == object->end() || at->is_null()) return;
    if (!take(*at)) out.problems.push_back(std::string(kSettingsSection) + "." + key);
  };
  read("enabled", [&](const json& v) {
    if (v.is_boolean()) out.enabled = v.get<bool>();
    return v.is_boolean();
  });
  read("mode", [&](const json& v) {
    if (v.is_string()) out.mode = mode_named(v.get_ref<const std::string&>());
    return out.mode.has_value();
  });
  read("maxTokens", [&](const json& v) {
    if (v.is_number_integer() && v >= 0 && v <= 1024) out.max_tokens = v.get<int>();
    return out.max_tokens.has_value();
  });
  return out;
}

SettingsChange parse_pushed_settings(const Value& params) {
  const json& value = params.get();
  if (!value.is_object()) return {};
  const auto settings = value.find("settings");
  return settings == value.end() ? SettingsChange{} : parse_settings(Value(*settings));
}

SettingsChange parse_pulled_settings(const Value& result) {
  const json& value = result.get();
  return value.is_array() && !value.empty() ? parse_settings(Value(value[0])) : SettingsChange{};
}

}  // namespace foretoken::lsp

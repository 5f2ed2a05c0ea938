#include "lsp/share_status.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "lsp/catalogue.h"

namespace foretoken::lsp {
namespace {

using Json = nlohmann::ordered_json;

Json parse(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : Json::object();
}

/// JSON as people and scripts may read it, whatever bytes a name has.
std::string dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json user_json(const EngineUser& user) {
  return {{"pid", user.pid}, {"name", user.name}, {"open_requests", user.open}};
}

double number(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json& member(const Json& json, const char* name) {
  static const Json kNothing = Json::object();
  const auto found = json.find(name);
  return found != json.end() && found->is_object() ? *found : kNothing;
}

std::string shown(double value, int decimals) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
  return buffer;
}

std::string duration(double seconds) {
  const auto whole = static_cast<uint64_t>(std::max(seconds, 0.0));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

/// "3 engine, 2 cache"
std::string counts(const Json& json) {
  std::string out;
  for (const auto& [name, count] : json.items()) {
    if (!count.is_number()) continue;
    out += (out.empty() ? "" : ", ") + shown(count.get<double>(), 0) + " " + name;
  }
  return out.empty() ? "none" : out;
}

double total(const Json& json) {
  double sum = 0;
  for (const auto& [name, count] : json.items()) sum += count.is_number() ? count.get<double>() : 0;
  return sum;
}

std::string percent(double part, double whole) {
  return whole > 0 ? shown(100 * part / whole, 0) + " %" : "-";
}

std::string user_text(const Json& user) {
  const std::string name = text(user, "name");
  return "process " + shown(number(user, "pid"), 0) + (name.empty() ? "" : " (" + name + ")");
}

void row(std::string* out, const std::string& label, const std::string& value) {
  *out += "  " + label + std::string(label.size() < 14 ? 14 - label.size() : 1, ' ') + value + "\n";
}

}  // namespace

std::string status_json(std::string_view engine, const OwnerFacts& facts) {
  const Json engine_json = parse(engine);
  Json clients = Json::array();
  for (const EngineUser& user : facts.clients) clients.push_back(user_json(user));
  Json json = {{"version", facts.version},     {"pid", facts.owner.pid},
               {"name", facts.owner.name},     {"state", engine_json.empty() ? "loading" : "ready"},
               {"shared", facts.shared},       {"uptime_s", facts.uptime_s},
               {"clients", std::move(clients)}};
  for (const auto& [name, value] : engine_json.items()) {
    if (!json.contains(name)) json[name] = value;
  }
  return dump(json);
}

std::string status_text(std::string_view status) {
  const Json json = parse(status);
  if (json.empty()) return "";
  std::string out = "Engine of " + user_text(json) + ", version " + text(json, "version") + ", up " +
                    duration(number(json, "uptime_s")) + "\n";
  std::string clients;
  const auto users = json.find("clients");
  if (users != json.end() && users->is_array()) {
    for (const Json& user : *users) {
      clients += (clients.empty() ? "" : ", ") + (user.is_object() ? user_text(user) : "?");
    }
  }
  row(&out, "clients", clients.empty() ? "none beside the owner" : clients);
  if (text(json, "state") == "loading") {
    row(&out, "model", "loading");
    return out;
  }
  const Json& answers = member(json, "answers");
  const double all = total(answers), computed = number(answers, "engine");
  const Json& tokens = member(json, "prompt_tokens");
  const double reused = number(tokens, "reused"), fresh = number(tokens, "new");
  row(&out, "model", text(json, "model") + " on " + text(json, "backend"));
  row(&out, "memory", human_bytes(uint64_t(number(json, "resident_bytes"))) + " resident, " +
                          human_bytes(uint64_t(number(json, "kv_bytes"))) + " for keys and values");
  row(&out, "answers", counts(answers) + "; " + percent(all - computed, all) + " without the model");
  row(&out, "silent", counts(member(json, "silent_because")));
  row(&out, "cancelled at", counts(member(json, "cancelled_at")));
  row(&out, "prompt tokens", shown(reused, 0) + " reused, " + shown(fresh, 0) + " new; " +
                                 percent(reused, reused + fresh) + " reused");
  for (const char* name : {"total_ms", "queue_ms", "prefill_ms", "decode_ms", "post_ms"}) {
    const Json& histogram = member(member(json, "histograms"), name);
    if (number(histogram, "count") == 0) continue;
    row(&out, std::string(name).substr(0, std::string_view(name).size() - 3),
        "p50 " + shown(number(histogram, "p50"), 1) + " ms, p95 " +
            shown(number(histogram, "p95"), 1) + " ms");
  }
  return out;
}

std::string histograms_json(const std::vector<std::string>& statuses) {
  Json engines = Json::array();
  for (const std::string& status : statuses) {
    const Json json = parse(status);
    engines.push_back({{"pid", json.value("pid", Json())},
                       {"model", json.value("model", Json())},
                       {"histograms", member(json, "histograms")}});
  }
  return dump(Json{{"engines", std::move(engines)}});
}

std::string statuses_json(const std::vector<std::string>& statuses) {
  Json list = Json::array();
  for (const std::string& status : statuses) list.push_back(parse(status));
  return dump(list);
}

}  // namespace foretoken::lsp

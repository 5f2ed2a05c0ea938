#include "lsp/keystroke_report.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace foretoken::lsp {
namespace {

using nlohmann::ordered_json;

template <typename Keep>
std::vector<KeyRecord> those(const std::vector<KeyRecord>& records, Keep keep) {
  std::vector<KeyRecord> kept;
  for (const KeyRecord& record : records) {
    if (keep(record)) kept.push_back(record);
  }
  return kept;
}

std::string row(const std::string& title, const ordered_json& keys) {
  char line[200];
  const auto number = [&](const char* group, const char* field) {
    return keys.at(group).at(field).get<double>();
  };
  std::snprintf(line, sizeof line,
                "%-12s %5d %8d %6d %6d %5d %6d %8.1f %7.1f %7.1f %8.1f %6.0f %4.0f %4.0f %6.0f\n",
                title.c_str(), keys.at("keys").get<int>(), keys.at("answered").get<int>(),
                keys.at("sources").at("engine").get<int>(),
                keys.at("sources").at("typed_through").get<int>(),
                keys.at("sources").at("cache").get<int>(),
                keys.at("sources").at("in_flight").get<int>(), number("latency_ms", "p50"),
                number("latency_ms", "p95"), number("latency_ms", "p99"), number("ttft_ms", "p50"),
                number("new_tokens", "p50"), number("new_tokens", "p95"), number("new_tokens", "max"),
                number("prompt_tokens", "p50"));
  return line;
}

}  // namespace

ordered_json percentiles_json(const Percentiles& values) {
  const auto rounded = [](double value) { return std::round(value * 1000) / 1000; };
  return {{"count", values.count},
          {"min", rounded(values.min)},
          {"p50", rounded(values.p50)},
          {"p95", rounded(values.p95)},
          {"p99", rounded(values.p99)},
          {"max", rounded(values.max)}};
}

ordered_json keys_json(const std::vector<KeyRecord>& records) {
  size_t answered = 0, superseded = 0, failed = 0, with_text = 0;
  std::vector<double> latency, ttft, prompt, reused, fresh;
  ordered_json sources = {{"typed_through", 0}, {"cache", 0}, {"in_flight", 0}, {"engine", 0}};
  for (const KeyRecord& record : records) {
    if (!record.error.empty()) {
      ++failed;
    } else if (record.superseded) {
      ++superseded;
    } else {
      ++answered;
      with_text += record.has_text;
      ordered_json& count = sources[engine::name(record.source)];
      count = count.get<int>() + 1;
      latency.push_back(record.latency_ms);
      if (record.ttft_ms > 0) ttft.push_back(record.ttft_ms);
      if (record.source != engine::Source::engine) continue;
      prompt.push_back(record.timings.prompt_tokens);
      reused.push_back(record.timings.reused_tokens);
      fresh.push_back(record.timings.new_tokens);
    }
  }
  return {{"keys", records.size()},
          {"answered", answered},
          {"superseded", superseded},
          {"failed", failed},
          {"with_text", with_text},
          {"sources", std::move(sources)},
          {"latency_ms", percentiles_json(percentiles(std::move(latency)))},
          {"ttft_ms", percentiles_json(percentiles(std::move(ttft)))},
          {"prompt_tokens", percentiles_json(percentiles(std::move(prompt)))},
          {"reused_tokens", percentiles_json(percentiles(std::move(reused)))},
          {"new_tokens", percentiles_json(percentiles(std::move(fresh)))}};
}

ordered_json keystrokes_json(const std::vector<KeyRecord>& records) {
  ordered_json phases = ordered_json::array(), kinds = ordered_json::object();
  for (const Phase phase : kPhases) {
    const auto played = those(records, [&](const KeyRecord& r) { return r.phase == phase; });
    if (played.empty()) continue;
    ordered_json out = {{"name", name(phase)}};
    out.update(keys_json(played));
    phases.push_back(std::move(out));
  }
  for (const KeyKind kind : kKeyKinds) {
    const auto played = those(records, [&](const KeyRecord& r) { return r.kind == kind; });
    if (!played.empty()) kinds[name(kind)] = keys_json(played);
  }
  const auto within_line = those(records, [](const KeyRecord& r) {
    return r.kind == KeyKind::character || r.kind == KeyKind::auto_closed || r.kind == KeyKind::typed_over;
  });
  return {{"phases", std::move(phases)},
          {"kinds", std::move(kinds)},
          {"within_line", keys_json(within_line)},
          {"all", keys_json(records)}};
}

std::string keystrokes_table(const ordered_json& report) {
  std::string out =
      "              keys answered engine  typed cache flight   p50 ms     p95     p99 ttft p50"
      "    new  p95  max prompt\n";
  for (const ordered_json& phase : report.at("phases")) {
    out += row(phase.at("name").get<std::string>(), phase);
  }
  out += row("in all", report.at("all"));
  out += "by kind of key\n";
  for (const auto& [kind, keys] : report.at("kinds").items()) out += row(kind, keys);
  out += row("within_line", report.at("within_line"));
  return out;
}

}  // namespace foretoken::lsp

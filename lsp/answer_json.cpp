#include "lsp/answer_json.h"

#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace foretoken::lsp {
namespace {

using nlohmann::ordered_json;

ordered_json place_json(const Snapshot& document, size_t offset) {
  const size_t line = document.lines().line_of(offset);
  return {{"line", line + 1}, {"col", offset - document.lines().start(line) + 1}};
}

double rounded(double ms) { return std::round(ms * 1000) / 1000; }

ordered_json timings_json(const engine::Timings& t) {
  return {{"queue_ms", rounded(t.queue_ms)},     {"prefill_ms", rounded(t.prefill_ms)},
          {"decode_ms", rounded(t.decode_ms)},   {"post_ms", rounded(t.post_ms)},
          {"ttft_ms", rounded(t.ttft_ms)},
          {"total_ms", rounded(t.total_ms)},     {"prompt_tokens", t.prompt_tokens},
          {"reused_tokens", t.reused_tokens},    {"new_tokens", t.new_tokens},
          {"output_tokens", t.output_tokens},    {"drafted_tokens", t.drafted_tokens},
          {"accepted_tokens", t.accepted_tokens}};
}

}  // namespace

std::string with_line_ends(std::string_view text, std::string_view line_end) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '\n') {
      out += line_end;
    } else {
      out += c;
    }
  }
  return out;
}

ordered_json answer_json(const Snapshot& document, const CompletionAnswer& answer, bool card,
                         bool prompt) {
  ordered_json json = {
      {"text", with_line_ends(answer.text, document.line_end())},
      {"range", {{"start", place_json(document, answer.start)}, {"end", place_json(document, answer.end)}}},
      {"finish", engine::name(answer.finish)}};
  if (answer.text.empty()) json["reason"] = answer.reason;
  json["source"] = engine::name(answer.source);
  json["timings"] = timings_json(answer.timings);
  json["model"] = answer.model;
  json["backend"] = answer.backend;
  if (card) {
    ordered_json rows = ordered_json::array();
    for (const engine::CardRow& row : answer.card) {
      rows.push_back({{"tier", row.tier},
                      {"kind", row.kind},
                      {"path", valid_utf8(row.path)},
                      {"lines", {row.first_line, row.last_line}},
                      {"rendition", row.rendition},
                      {"tokens", row.tokens},
                      {"reused", row.reused}});
    }
    json["card"] = std::move(rows);
  }
  if (!answer.hashes.empty()) {
    ordered_json hashes = ordered_json::array();
    for (const uint64_t hash : answer.hashes) {
      char text[17];
      std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
      hashes.push_back(text);
    }
    json["logits_hashes"] = std::move(hashes);
  }
  if (prompt) json["prompt"] = valid_utf8(answer.prompt);
  return json;
}

}  // namespace foretoken::lsp

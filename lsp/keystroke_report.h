// Keys that were played, as numbers: per phase, per kind of key, and in all.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lsp/keystroke_run.h"
#include "lsp/percentiles.h"

namespace foretoken::lsp {

nlohmann::ordered_json percentiles_json(const Percentiles& values);

/// {`keys`, `answered`, `superseded`, `failed`, `with_text`, `sources`, `latency_ms`, `ttft_ms`, and
/// of the answers that the engine computed `prompt_tokens`, `reused_tokens`, `new_tokens`}.
/// keys = answered + superseded + failed; answered = the sum of sources.
nlohmann::ordered_json keys_json(const std::vector<KeyRecord>& records);

/// {`phases`: [{`name`, …}], `kinds`: {…}, `within_line`: {…}, `all`: {…}}, each as keys_json.
/// Within a line: characters, closers of the editor and keys that step over them.
nlohmann::ordered_json keystrokes_json(const std::vector<KeyRecord>& records);

/// The same as lines for people.
std::string keystrokes_table(const nlohmann::ordered_json& report);

}  // namespace foretoken::lsp

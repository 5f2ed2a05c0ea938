// What `foretoken status` is told: the engine's own account (lsp/metrics), and around it who owns the
// engine and who uses it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::lsp {

struct EngineUser {
  int64_t pid = 0;
  std::string name;      // "" where it did not say
  size_t open = 0;       // requests not answered yet
};

struct OwnerFacts {
  std::string version;
  EngineUser owner;
  double uptime_s = 0;
  bool shared = true;    // others may attach
  std::vector<EngineUser> clients;
};

/// One JSON object as text. `engine`: EngineLink::status of the engine; "" while it loads.
std::string status_json(std::string_view engine, const OwnerFacts& facts);

/// The same for people: some lines, each ended. "" where `json` is no status.
std::string status_text(std::string_view json);

/// The member "histograms" of each of these statuses and who it is of, as one JSON object.
std::string histograms_json(const std::vector<std::string>& statuses);

/// The statuses as a JSON array.
std::string statuses_json(const std::vector<std::string>& statuses);

}  // namespace foretoken::lsp

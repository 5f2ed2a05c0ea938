#include "lsp/user_config.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "lsp/paths.h"

namespace foretoken::lsp {

UserConfig read_user_config(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return {};
  const auto broken = [&](const std::string& what) {
    return UserConfig{.problem = short_path(file) + " is not used: " + what};
  };
  if (!std::filesystem::is_regular_file(file, error)) return broken("it is no regular file");
  std::ifstream stream(file);
  if (!stream) return broken("it cannot be read");
  const auto json = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return broken("it is no JSON object");
  UserConfig config;
  for (const auto& [key, to] : {std::pair{"model", &config.model}, {"hub", &config.hub}}) {
    const auto at = json.find(key);
    if (at == json.end()) continue;
    if (!at->is_string()) return broken("\"" + std::string(key) + "\" is no string");
    *to = *at;
  }
  return config;
}

}  // namespace foretoken::lsp

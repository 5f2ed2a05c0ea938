// Where Foretoken's files lie: what came with the program, what was pulled, what the user set.
#pragma once

#include <filesystem>
#include <string>

namespace foretoken::lsp {

/// The folders in use. An immutable value; they need not exist.
struct Paths {
  std::filesystem::path share;   // models.json, the pocket model: came with the program
  std::filesystem::path cache;   // $XDG_CACHE_HOME/foretoken
  std::filesystem::path config;  // $XDG_CONFIG_HOME/foretoken
  std::filesystem::path runtime;  // $XDG_RUNTIME_DIR/foretoken, else /tmp/foretoken-UID: sockets

  std::filesystem::path models() const { return cache / "models"; }
  std::filesystem::path config_file() const { return config / "config.json"; }

  /// Reads the environment (XDG_CACHE_HOME, XDG_CONFIG_HOME, XDG_RUNTIME_DIR, HOME) and /proc/self/exe: the one
  /// place that does. Relative XDG values are ignored, as the specification asks.
  static Paths from_environment();
};

/// `~/…` for a path below the user's home folder: shorter to read. Only for messages.
std::string short_path(const std::filesystem::path& path);

}  // namespace foretoken::lsp

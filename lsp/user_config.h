// What the user set once for all repositories: $XDG_CONFIG_HOME/foretoken/config.json. A
// repository's own files are never read for settings: they are untrusted.
#pragma once

#include <filesystem>
#include <string>

namespace foretoken::lsp {

struct UserConfig {
  std::string model;    // "model": catalogue name or file
  std::string hub;      // "hub": base address of a mirror, https
  std::string problem;  // one line where the file could not be used; then nothing else is set
};

/// A missing file is an empty configuration. Never throws. Unknown keys are left to other readers.
UserConfig read_user_config(const std::filesystem::path& file);

}  // namespace foretoken::lsp

// Which model answers: --model, else the configured one, else the best pulled one that this machine
// runs fast enough, else the pocket model.
#pragma once

#include <filesystem>
#include <string>

#include "lsp/catalogue.h"
#include "lsp/machine.h"
#include "lsp/options.h"
#include "lsp/paths.h"
#include "lsp/user_config.h"

namespace foretoken::lsp {

/// Immutable value.
struct ModelChoice {
  std::filesystem::path path;  // the file to open
  std::string name;  // what answers call it: catalogue name, else the file's name without .gguf
  std::string why;   // "asked for with --model", "the best of those pulled", …
  std::string note;  // one line for the user where something better could be had; else ""
};

/// Throws std::runtime_error (one line, with near names) where `wanted` is given and not here. A
/// bad configuration is no error: it is told in `note`. Looks at the file system; opens no model.
ModelChoice choose_model(const std::string& wanted, const Catalogue& catalogue, const Paths& paths,
                         const UserConfig& config, const Machine& machine);

/// The same for this user on this machine: reads environment, catalogue and configuration.
ModelChoice choose_model(const Options& options);

/// A FILE|NAME of the command line; throws like choose_model.
ModelChoice named_model(const std::string& wanted, const Catalogue& catalogue, const Paths& paths);

/// "" where this machine runs `entry` fast enough for completions, else why not.
std::string too_slow_here(const Entry& entry, const Machine& machine);

}  // namespace foretoken::lsp

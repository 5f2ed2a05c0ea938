// `foretoken model`: list, pull, info and check.
#pragma once

#include <string>

#include "lsp/options.h"

namespace CLI {
class App;
}

namespace foretoken::lsp {

/// Adds `model` and these four to `app`. The one that was asked for runs while CLI11 parses and
/// leaves 0 or 1 in `exit_status`. Returns the `model` command: more subcommands go there.
/// `options` and `exit_status` must outlive the parse.
CLI::App* add_model_command(CLI::App& app, const Options& options, int& exit_status);

/// Each returns its exit status; errors are one line on stderr.
int run_model_list(const Options& options, bool json);
int run_model_pull(const std::string& name, bool again);  // "": the default model
int run_model_info(const Options& options, const std::string& wanted, bool json);
int run_model_check(const Options& options, const std::string& wanted);

}  // namespace foretoken::lsp

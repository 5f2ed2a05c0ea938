// `foretoken doctor`: what this machine can do, in plain words. No network.
#pragma once

#include "lsp/options.h"

namespace CLI {
class App;
}

namespace foretoken::lsp {

/// Adds `doctor` to `app`; it runs while CLI11 parses and leaves its status in `exit_status`.
CLI::App* add_doctor_command(CLI::App& app, const Options& options, int& exit_status);

/// Exit status 0 where a completion could be made, 1 where something stands in its way.
int run_doctor(const Options& options, bool json);

}  // namespace foretoken::lsp

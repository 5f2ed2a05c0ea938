// `foretoken status`: which engines of this user run, who uses them, what their answers cost.
#pragma once

#include "lsp/options.h"

namespace CLI {
class App;
}

namespace foretoken::lsp {

/// Adds `status` to `app`; it runs while CLI11 parses and leaves its status in `exit_status`.
CLI::App* add_status_command(CLI::App& app, int& exit_status);

struct StatusArguments {
  bool json = false;          // everything
  bool metrics_json = false;  // the histograms
};

/// Exit status 0, engines or none; 1 where it cannot be told.
int run_status(const StatusArguments& arguments);

}  // namespace foretoken::lsp

#include <CLI/CLI.hpp>

#include "lsp/cli_lsp.h"

namespace foretoken::lsp {

void add_lsp_flags(CLI::App& command, LspArguments& arguments) {
  command.add_flag("--stdio", arguments.stdio, "talk over stdin and stdout (always so)");
  command.add_option("--clientProcessId", arguments.client_process_id,
                     "leave when this process ends");
  command
      .add_option("--log-level", arguments.log_level, "off, error, warn, info or debug; on stderr")
      ->check(CLI::IsMember({"off", "error", "warn", "info", "debug"}));
}

}  // namespace foretoken::lsp

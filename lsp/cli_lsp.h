// `foretoken lsp`: the language server on stdin and stdout.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "lsp/completer.h"
#include "lsp/options.h"

namespace CLI {
class App;
}

namespace foretoken::lsp {

struct LspArguments {
  bool stdio = true;  // --stdio: accepted for clients that always send it; there is nothing else
  int64_t client_process_id = 0;   // --clientProcessId: leave when that process ends; 0: none
  std::string log_level = "warn";  // --log-level off|error|warn|info|debug, on stderr
};

/// Adds the subcommand's own flags to `command`.
void add_lsp_flags(CLI::App& command, LspArguments& arguments);

/// Loads the model; runs on a thread of its own, once, after `initialize`. `options.root` is filled
/// from the client's first folder where the command line left it open. Throws std::exception with a
/// line for the user. May poll the token and give up; what it returns then is dropped.
using CompleterFactory =
    std::function<std::shared_ptr<Completer>(const Options& options, std::stop_token stop)>;

/// Serves until the client leaves. Returns the exit status: 0 after a shutdown, 1 without one, 2
/// for flags it does not know. Ends the process itself where loading or decoding does not stop in
/// time.
int run_lsp(const Options& options, CompleterFactory factory, const LspArguments& arguments);

}  // namespace foretoken::lsp

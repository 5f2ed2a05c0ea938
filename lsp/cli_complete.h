// `foretoken complete`: one answer for FILE:LINE:COL, or a stream of requests as JSON lines.
#pragma once

#include <string>

#include "lsp/options.h"

namespace CLI {
class App;
}

namespace foretoken::lsp {

struct CompleteArguments {
  std::string place;           // FILE:LINE:COL; "-:LINE:COL" reads the file from stdin
  std::string path;            // --path: the name of what comes from stdin
  std::string mode = "decide"; // --mode
  int max_tokens = 0;          // --max-tokens; 0: the mode's default
  bool json = false, jsonl = false, card = false, dump_prompt = false, no_cache = false;
  bool hashes = false, from_engine = false;
};

/// What "-:LINE:COL" reads as once the command line is parsed: to CLI11 a leading dash is a flag.
inline constexpr char kStdinFile[] = "(stdin)";

/// Adds the subcommand's own flags to `command`.
void add_complete_flags(CLI::App& command, CompleteArguments& arguments);

/// Exit status: 0 answered, 1 failed (one line on stderr), 2 wrong command line.
int run_complete(const CompleteArguments& arguments, const Options& options);

}  // namespace foretoken::lsp

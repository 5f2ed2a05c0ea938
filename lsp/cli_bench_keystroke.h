// `foretoken bench keystroke`: what a key costs, from the time it was meant to be struck.
#pragma once

#include <string>
#include <vector>

#include "lsp/options.h"

namespace CLI {
class App;
}

namespace foretoken::lsp {

struct BenchKeystrokeArguments {
  std::vector<std::string> files;
  std::string phases;               // separated by commas; "": all of them
  std::string pace = "real";
  int keys = 120;
  std::string peer_server;          // "": none
  int peer_keys = 24;
  bool json = false;
};

void add_bench_keystroke_flags(CLI::App& command, BenchKeystrokeArguments& arguments);
int run_bench_keystroke(const BenchKeystrokeArguments& arguments, const Options& options);

}  // namespace foretoken::lsp

// `foretoken bench model`: how fast a model computes here, as tokens, bytes and shares of the machine.
#pragma once

#include "lsp/options.h"

namespace CLI {
class App;
}

namespace foretoken::lsp {

struct BenchModelArguments {
  int prompt_tokens = 512, output_tokens = 64, rounds = 5;
  bool json = false;
};

void add_bench_model_flags(CLI::App& command, BenchModelArguments& arguments);
int run_bench_model(const BenchModelArguments& arguments, const Options& options);

}  // namespace foretoken::lsp

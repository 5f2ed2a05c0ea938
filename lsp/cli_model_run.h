// `foretoken model tokenize` and `foretoken model logits`: the engine's lower floors, for scripts.
#pragma once

#include <string>

#include "lsp/options.h"

namespace CLI {
class App;
}

namespace foretoken::lsp {

struct TokenizeArguments {
  std::string ids;     // --ids 1,2,3: print their text instead
  bool jsonl = false;  // --jsonl: a JSON string or array of ids per line
};
struct LogitsArguments {
  std::string ids, ids_file;
  int greedy = 0, top = 20;
  bool all = false;
};

void add_tokenize_flags(CLI::App& command, TokenizeArguments& arguments);
void add_logits_flags(CLI::App& command, LogitsArguments& arguments);

/// Exit status as everywhere: 0, 1 with one line on stderr, 2.
int run_tokenize(const TokenizeArguments& arguments, const Options& options);
int run_logits(const LogitsArguments& arguments, const Options& options);

}  // namespace foretoken::lsp

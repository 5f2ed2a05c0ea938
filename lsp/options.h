// Every setting: its default and the reason for it. One table; the command line, the editors'
// settings and the documentation all come from here.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace foretoken::lsp {

struct Options {
  std::string model;               // --model: file or catalogue name; "": see model_choice.h
  std::string backend = "auto";    // --backend: the best the processor has
  int threads = 0;                 // --threads: 0 = one per physical core the process may use
  std::string root;                // --root: "": the caller's folder (CLI), first workspace folder (LSP)
  bool retrieval = true;           // --no-retrieval
  bool healing = true;             // --no-healing: for comparison only, see README
  bool usual_layout = false;       // --layout usual: for comparison only
  bool share = true;               // --no-share: a model is loaded once, whatever the number of editors
  std::string metrics_json;        // --metrics-json (lsp, complete): books are kept in memory only
  uint64_t seed = 0;               // --seed: greedy decoding draws nothing; kept for sampling
  int window_tokens = 2176;        // prompt budget: P and S of 1,450 + 500 is what a median request of a code
                                   // service holds (Azure trace 2023: p50 1,469 prompt tokens)
  int line_tokens = 64;            // p95 line is 73 characters, some 25 tokens; the stop rule ends first
  int word_tokens = 8;             // an identifier is rarely more
  int block_tokens = 160;          // some 12 lines
  uint64_t kv_bytes = 0;           // KV budget; 0: from free memory (engine/runtime)
  int idle_ms = 2000;              // computing ahead after each answer while nobody types
};

/// The command line's flags for the settings above.
void add_option_flags(CLI::App& app, Options& options);
/// --metrics-json, for commands that answer.
void add_metrics_flag(CLI::App& command, Options& options);

}  // namespace foretoken::lsp

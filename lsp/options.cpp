#include "lsp/options.h"

#include <CLI/CLI.hpp>
#include <filesystem>

namespace foretoken::lsp {

void add_option_flags(CLI::App& app, Options& options) {
  app.add_option("--model", options.model, "model file, or a name from `foretoken model list`")
      ->check([](const std::string& name) { return name.empty() ? "a model needs a name" : ""; });
  app.add_option("--backend", options.backend, "auto, amx, avx512, avx2 or reference");
  app.add_option("--threads", options.threads, "threads that compute; 0: one per core")
      ->check(CLI::Range(0, 256));
  app.add_option("--root", options.root, "folder that paths in prompts are relative to")
      ->check(CLI::ExistingDirectory);
  app.add_option("--window", options.window_tokens, "prompt tokens wanted around the cursor")
      ->check(CLI::Range(64, 1 << 17));
  app.add_option("--kv-bytes", options.kv_bytes, "memory for cached keys and values: 128M, 1G (default: from free memory)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->check(CLI::Range(uint64_t{1} << 20, uint64_t{1} << 40).description("1M to 1T"));
  app.add_option("--idle-ms", options.idle_ms, "most computing ahead after an answer while nobody types; 0: none")
      ->check(CLI::Range(0, 3600000));
  app.add_option("--seed", options.seed, "for sampling; greedy decoding, the default, draws nothing");
  app.add_flag("!--no-retrieval", options.retrieval, "no context beyond the current file");
  app.add_flag("!--no-healing", options.healing, "for comparison: do not heal the last word");
  app.add_flag("!--no-share", options.share,
               "an engine of its own: neither use another process's nor serve others");
  app.add_option_function<std::string>(
         "--layout", [&options](const std::string& name) { options.usual_layout = name == "usual"; },
         "anchored (default), or usual: for comparison, as other servers lay prompts out")
      ->check(CLI::IsMember({"anchored", "usual"}));
}

void add_metrics_flag(CLI::App& command, Options& options) {
  command.add_option("--metrics-json", options.metrics_json,
                     "when the command ends, write what its answers cost to this file (JSON)")
      ->check([](const std::string& name) -> std::string {
        namespace fs = std::filesystem;
        std::error_code error;
        const fs::path path(name), folder = path.has_parent_path() ? path.parent_path() : ".";
        if (fs::is_directory(path, error)) return name + " is a folder";
        return fs::is_directory(folder, error) ? "" : folder.string() + " is no folder";
      });
}

}  // namespace foretoken::lsp

// The table of subcommands, and nothing else.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "lsp/cli_bench.h"
#include "lsp/cli_bench_keystroke.h"
#include "lsp/cli_complete.h"
#include "lsp/cli_doctor.h"
#include "lsp/cli_lsp.h"
#include "lsp/cli_model.h"
#include "lsp/cli_model_run.h"
#include "lsp/cli_status.h"
#include "lsp/completion.h"
#include "lsp/options.h"
#include "lsp/standard_streams.h"

int main(int argc, char** argv) {
  using namespace foretoken::lsp;
  hold_standard_streams();
  Options options;
  CLI::App app{"foretoken: code completion from a model on your own machine"};
  app.set_version_flag("--version", FORETOKEN_VERSION);
  app.require_subcommand(0, 1);
  app.name("foretoken");
  app.fallthrough();  // the common settings may stand behind the subcommand
  add_option_flags(app, options);

  int status = 0;

  CompleteArguments complete;
  CLI::App* complete_command = app.add_subcommand("complete", "complete at FILE:LINE:COL, or answer JSON lines");
  add_complete_flags(*complete_command, complete);
  add_metrics_flag(*complete_command, options);
  complete_command->callback([&] { status = run_complete(complete, options); });

  LspArguments lsp;
  CLI::App* lsp_command = app.add_subcommand("lsp", "serve editors over the Language Server Protocol");
  add_lsp_flags(*lsp_command, lsp);
  add_metrics_flag(*lsp_command, options);
  lsp_command->callback([&] {
    const auto load = [&](const Options& these, std::stop_token stop) {
      return load_completer(these, std::move(stop), log_level_of(lsp.log_level).value_or(LogLevel::warn));
    };
    status = run_lsp(options, load, lsp);
  });

  CLI::App* model_command = add_model_command(app, options, status);
  TokenizeArguments tokenize;
  CLI::App* tokenize_command = model_command->add_subcommand("tokenize", "stdin as a JSON array of token ids");
  add_tokenize_flags(*tokenize_command, tokenize);
  tokenize_command->callback([&] { status = run_tokenize(tokenize, options); });
  LogitsArguments logits;
  CLI::App* logits_command = model_command->add_subcommand("logits", "what the model says after a prompt of ids");
  add_logits_flags(*logits_command, logits);
  logits_command->callback([&] { status = run_logits(logits, options); });

  CLI::App* bench_command = app.add_subcommand("bench", "how fast this machine computes");
  bench_command->require_subcommand(1);
  BenchModelArguments bench;
  CLI::App* bench_model = bench_command->add_subcommand("model", "prefill and decode speed of a model");
  add_bench_model_flags(*bench_model, bench);
  bench_model->callback([&] { status = run_bench_model(bench, options); });

  BenchKeystrokeArguments keystroke;
  CLI::App* bench_keystroke = bench_command->add_subcommand("keystroke", "what a key costs while a person types");
  add_bench_keystroke_flags(*bench_keystroke, keystroke);
  bench_keystroke->callback([&] { status = run_bench_keystroke(keystroke, options); });

  add_doctor_command(app, options, status);
  add_status_command(app, status);

  try {
    std::vector<std::string> words(argv + 1, argv + argc);
    for (std::string& word : words) {
      if (word.starts_with("-:")) word.replace(0, 1, kStdinFile);
    }
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
    if (app.get_subcommands().empty()) throw CLI::RequiredError("a subcommand: complete, lsp, model, bench, status or doctor");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      report(std::string(error.what()) + " (--help says more)");
      return 2;
    }
    app.exit(error);  // prints help or the version
  }
  return flush_stdout() ? status : 1;
}

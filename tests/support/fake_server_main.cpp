// The real language server with a fake completer: end-to-end tests of the front without a model.
//   fake_server [--stdio] [--clientProcessId=N] [--log-level=L] [--text=T] [--never-ready]
//   [--fail=WHY]
//               [--hold]   answers only when cancelled or superseded
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "lsp/cli_lsp.h"
#include "tests/support/fake_completer.h"

int main(int argc, char** argv) {
  using namespace foretoken::lsp;
  LspArguments arguments;
  std::string text = "completed", fail;
  bool never_ready = false, hold = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const std::string value(arg.substr(arg.find('=') == arg.npos ? arg.size() : arg.find('=') + 1));
    if (arg.starts_with("--clientProcessId="))
      arguments.client_process_id = std::atoll(value.c_str());
    if (arg.starts_with("--log-level=")) arguments.log_level = value;
    if (arg.starts_with("--text=")) text = value;
    if (arg.starts_with("--fail=")) fail = value;
    if (arg == "--never-ready") never_ready = true;
    if (arg == "--hold") hold = true;
  }
  return run_lsp(
      {},
      [=](const Options&, std::stop_token) -> std::shared_ptr<Completer> {
        if (!fail.empty()) throw std::runtime_error(fail);
        if (never_ready)
          std::this_thread::sleep_for(std::chrono::hours(1));  // deaf to its stop token
        auto completer = std::make_shared<FakeCompleter>(text, FakeCompleter::When::on_thread);
        if (hold) completer->close_gate();
        return completer;
      },
      arguments);
}

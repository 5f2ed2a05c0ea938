#include "lsp/cli_lsp.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "lsp/log.h"
#include "lsp/loop.h"
#include "lsp/server.h"
#include "lsp/transport.h"

namespace foretoken::lsp {
namespace {

/// How long waiting answers may take to write once the client leaves, and how long the whole
/// farewell.
constexpr std::chrono::milliseconds kWritePatience{500};
constexpr std::chrono::milliseconds kExitPatience{1000};

/// Runs the factory on a thread of its own. Front thread.
class BackgroundSource final : public CompleterSource {
 public:
  BackgroundSource(const Options& options, CompleterFactory factory)
      : options_(options), factory_(std::move(factory)) {}

  void start(std::string root, std::function<void(std::shared_ptr<Completer>)> ready,
             std::function<void(std::string)> failed) override {
    if (options_.root.empty()) options_.root = std::move(root);
    loader_ = std::jthread(
        [this, ready = std::move(ready), failed = std::move(failed)](std::stop_token stop) {
          try {
            if (auto completer = factory_(options_, stop)) return ready(std::move(completer));
            failed("no model was loaded");
          } catch (const std::exception& error) {
            failed(error.what());
          }
        });
  }

  void stop() {
    if (loader_.joinable()) loader_.request_stop();
  }

 private:
  Options options_;
  const CompleterFactory factory_;
  std::jthread loader_;
};

/// Ends the process if it is still there after kExitPatience: a client that has left must not wait
/// for a model that is still loading or for a backend that hangs. Thread-safe.
class ExitLimit {
 public:
  explicit ExitLimit(int code)
      : watcher_([this, code](std::stop_token stop) {
          std::unique_lock lock(mutex_);
          if (!ended_.wait_for(lock, stop, kExitPatience, [] { return false; }) &&
              !stop.stop_requested())
            ::_exit(code);
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread watcher_;
};

}  // namespace

int run_lsp(const Options& options, CompleterFactory factory, const LspArguments& arguments) {
  Log log;
  const auto level = log_level_of(arguments.log_level);
  if (!level) {
    log.error("--log-level " + arguments.log_level + ": expected off, error, warn, info or debug");
    return 2;
  }
  log.set_level(*level);
  ::signal(SIGPIPE, SIG_IGN);  // a client that is gone shows as EPIPE
  ClientStdio stdio = take_stdio();
  if (!stdio.error.empty()) {
    log.error(stdio.error);
    return 2;
  }

  std::optional<ExitLimit> limit;  // outlives what may take its time to end
  const std::shared_ptr<RunningLoop> loop = make_loop();
  int code = 1;
  BackgroundSource source(options, std::move(factory));
  const auto transport = std::make_shared<FdTransport>(std::move(stdio.in), std::move(stdio.out));
  ServerSetup setup;
  setup.version = FORETOKEN_VERSION;
  setup.client_process_id = arguments.client_process_id;
  setup.exit = [&](int status) {
    code = status;
    loop->stop();
  };
  auto server = std::make_unique<Server>(loop, transport, source, log, std::move(setup));
  transport->start(loop, {[&](std::string body) { server->receive(body); },
                          [&](std::string reason) { server->refuse(reason); },
                          [&](std::string fault) { server->client_gone(fault); }});
  loop->run();

  limit.emplace(code);
  source.stop();
  transport->close(kWritePatience);
  server.reset();
  return code;  // source joins its thread, the completer ends its own: within the limit, or cut
                // short
}

}  // namespace foretoken::lsp

#include "lsp/engine_loader.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <new>
#include <stdexcept>

#include "kernels/backend.h"
#include "lsp/books.h"
#include "lsp/local_engine.h"
#include "lsp/machine.h"
#include "lsp/paths.h"
#include "lsp/shared_engine.h"

namespace foretoken::lsp {
namespace {

int longest_output(const Options& options) {
  return std::max({options.block_tokens, options.line_tokens, options.word_tokens});
}

/// Whose engine it is, for `foretoken status`: the program that started us, an editor as a rule.
std::string user_name() {
  std::string name;
  std::ifstream comm("/proc/" + std::to_string(::getppid()) + "/comm");
  std::getline(comm, name);
  return name;
}

}  // namespace

ModelChoice announced_model(const Options& options) {
  ModelChoice choice = choose_model(options);
  if (!choice.note.empty()) std::cerr << "foretoken: " << choice.note << "\n";
  return choice;
}

std::unique_ptr<engine::Runtime> load_runtime(const ModelChoice& choice, const Options& options) {
  engine::RuntimeOptions runtime;
  runtime.model_path = choice.path.string();
  runtime.name = choice.name;
  runtime.backend = kernels::make_backend(options.backend, options.threads);
  runtime.kv_bytes = options.kv_bytes;
  runtime.memory_available = Machine::look().memory_available;
  runtime.window = options.window_tokens;
  runtime.longest_output = longest_output(options);
  try {
    return std::make_unique<engine::Runtime>(std::move(runtime));
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(choice.path.string() +
                             ": not enough memory to load this model; free some, or take a smaller "
                             "one (foretoken model list)");
  }
}

std::shared_ptr<EngineLink> load_engine(const ModelChoice& choice, const Options& options,
                                        bool replay) {
  const engine::EngineOptions how{replay, std::chrono::milliseconds(options.idle_ms)};
  return std::make_shared<LocalEngine>(
      std::make_shared<engine::Engine>(load_runtime(choice, options), how));
}

std::shared_ptr<EngineLink> open_engine(const ModelChoice& choice, const Options& options, Share how,
                                        std::function<void(const std::string& line)> say,
                                        std::stop_token stop) {
  const bool replay = how != Share::serve;  // a command: its own engine follows no clock
  std::shared_ptr<EngineLink> engine;
  if (how == Share::never || !options.share) {
    engine = load_engine(choice, options, replay);
  } else {
    EngineIdentity identity;
    identity.model = choice.path;
    identity.version = FORETOKEN_VERSION;
    identity.backend = options.backend;
    identity.threads = options.threads;
    identity.window_tokens = options.window_tokens;
    // Not idle_ms: when to compute ahead is up to the owner, and no answer depends on it.
    identity.longest_output = longest_output(options);
    identity.kv_bytes = options.kv_bytes;
    Sharing sharing;
    sharing.folder = Paths::from_environment().runtime;
    sharing.key = engine_key(identity);
    sharing.version = FORETOKEN_VERSION;
    sharing.name = user_name();
    sharing.user = ::geteuid();
    sharing.may_own = how == Share::serve;
    auto shared = std::make_shared<SharedEngine>(
        std::move(sharing),
        [choice, options, replay] { return load_engine(choice, options, replay); }, std::move(say));
    shared->wait(std::move(stop));
    engine = std::move(shared);
  }
  if (options.metrics_json.empty()) return engine;
  return std::make_shared<Books>(std::move(engine), options.metrics_json);
}

}  // namespace foretoken::lsp

#include "lsp/engine_loader.h"

#include <algorithm>
#include <iostream>
#include <new>
#include <stdexcept>

#include "kernels/backend.h"
#include "lsp/local_engine.h"
#include "lsp/machine.h"

namespace foretoken::lsp {

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
  runtime.longest_output = std::max({options.block_tokens, options.line_tokens, options.word_tokens});
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

}  // namespace foretoken::lsp

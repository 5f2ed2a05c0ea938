#include "lsp/local_engine.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "lsp/memory.h"

namespace foretoken::lsp {

EngineLink::Ticket LocalEngine::submit(engine::Request request, Done done) {
  return engine_->submit(std::move(request), std::move(done));
}

void LocalEngine::observe(engine::Request request) { engine_->observe(std::move(request)); }

void LocalEngine::status(std::function<void(std::string json)> done) {
  const engine::Runtime& runtime = engine_->runtime();
  nlohmann::ordered_json json = {{"version", FORETOKEN_VERSION},
                                 {"pid", ::getpid()},
                                 {"model", model_name()},
                                 {"backend", backend_name()},
                                 {"threads", runtime.backend().threads()},
                                 {"window_tokens", runtime.window()},
                                 {"resident_bytes", resident_bytes()},
                                 {"weight_bytes", runtime.model().weight_bytes()},
                                 {"kv_bytes", runtime.kv_bytes()}};
  const engine::EngineState state = engine_->state();
  json.update({{"open_requests", state.open_requests},
               {"kv_pages", state.kv_pages},
               {"kv_pages_free", state.kv_pages_free},
               {"kv_evicted_segments", state.kv_evicted_segments},
               {"idle_ms", state.idle_ms}});
  json.update(metrics_.json());
  done(json.dump());
}

}  // namespace foretoken::lsp

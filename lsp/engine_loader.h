// From options to a running engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "engine/runtime.h"
#include "lsp/engine_link.h"
#include "lsp/model_choice.h"
#include "lsp/options.h"

namespace foretoken::lsp {

/// The model that answers (lsp/model_choice); where a better one could be had, one line on stderr says
/// so. For commands. Throws std::runtime_error.
ModelChoice announced_model(const Options& options);

/// Loads `choice` on the backend the options name. Throws std::runtime_error (engine::ModelError
/// and the backend's complaints are such) with one line for the user.
std::unique_ptr<engine::Runtime> load_runtime(const ModelChoice& choice, const Options& options);

/// An engine in this process, for this process. `replay`: nothing depends on the clock, see
/// engine::EngineOptions.
std::shared_ptr<EngineLink> load_engine(const ModelChoice& choice, const Options& options,
                                        bool replay = false);

/// Whether a process uses an engine that another one owns (lsp/shared_engine).
enum class Share : uint8_t {
  serve,   // and owns one for others where there is none
  attach,  // but never owns one for others: it ends too soon
  never,
};
/// The engine for a command's answers, books kept where `options` asks for them. `--no-share` makes
/// `how` never. `say` gets a line where sharing did not work. Throws like load_runtime; returns
/// something useless after `stop`.
std::shared_ptr<EngineLink> open_engine(const ModelChoice& choice, const Options& options, Share how,
                                        std::function<void(const std::string& line)> say,
                                        std::stop_token stop = {});

}  // namespace foretoken::lsp

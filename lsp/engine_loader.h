// From options to a running engine.
#pragma once

#include <memory>
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

/// `replay`: nothing depends on the clock, see engine::EngineOptions.
std::shared_ptr<EngineLink> load_engine(const ModelChoice& choice, const Options& options,
                                        bool replay = false);

}  // namespace foretoken::lsp

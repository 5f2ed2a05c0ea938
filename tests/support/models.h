// The models tests run on: our tiny ones, the pocket model, and (where FORETOKEN_TEST_MODELS names a
// folder) real ones.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime.h"

namespace foretoken::test {

std::string data_path(const std::string& name);    // tests/data/name
std::string pocket_path();                         // lsp/pocket/pocket-q8_0.gguf
/// A real model's file; nullopt (and why, for GTEST_SKIP) where it is not at hand.
std::optional<std::string> real_model(const std::string& file_name);

/// Backends this machine can run, `reference` among them.
std::vector<std::string> backends_here();
/// The same and "guarded": `reference` on memory that faults when the host touches it.
std::vector<std::string> backends_and_guarded();

struct LoadOptions {
  std::string backend = "auto";
  int threads = 2;
  int chunk = 128;
  uint64_t kv_bytes = 64u << 20;
  int window = 2048;
};
std::unique_ptr<engine::Runtime> load(const std::string& path, const LoadOptions& options = {});

}  // namespace foretoken::test

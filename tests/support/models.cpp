#include "tests/support/models.h"

#include <cstdlib>
#include <filesystem>

#include "kernels/backend.h"
#include "tests/support/guarded_backend.h"

namespace foretoken::test {

std::string data_path(const std::string& name) { return std::string(FORETOKEN_TEST_DATA) + "/" + name; }

std::string pocket_path() { return std::string(FORETOKEN_SOURCE_DIR) + "/lsp/pocket/pocket-q8_0.gguf"; }

std::optional<std::string> real_model(const std::string& file_name) {
  const char* folder = std::getenv("FORETOKEN_TEST_MODELS");
  if (folder == nullptr) return std::nullopt;
  const std::string path = std::string(folder) + "/" + file_name;
  return std::filesystem::exists(path) ? std::optional(path) : std::nullopt;
}

std::vector<std::string> backends_here() {
  std::vector<std::string> names;
  for (const kernels::BackendEntry& entry : kernels::backends()) {
    if (entry.runs_here()) names.emplace_back(entry.name);
  }
  return names;
}

std::vector<std::string> backends_and_guarded() {
  std::vector<std::string> names = backends_here();
  names.push_back("guarded");
  return names;
}

std::unique_ptr<engine::Runtime> load(const std::string& path, const LoadOptions& options) {
  engine::RuntimeOptions runtime;
  runtime.model_path = path;
  runtime.name = std::filesystem::path(path).stem().string();
  runtime.backend = options.backend == "guarded" ? make_guarded_backend()
                                                 : kernels::make_backend(options.backend, options.threads);
  runtime.chunk = options.chunk;
  runtime.kv_bytes = options.kv_bytes;
  runtime.window = options.window;
  return std::make_unique<engine::Runtime>(std::move(runtime));
}

}  // namespace foretoken::test

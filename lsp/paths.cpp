#include "lsp/paths.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace foretoken::lsp {
namespace fs = std::filesystem;
namespace {

fs::path home() {
  if (const char* value = std::getenv("HOME"); value && *value == '/') return value;
  if (const passwd* entry = getpwuid(geteuid()); entry && entry->pw_dir && *entry->pw_dir == '/') {
    return entry->pw_dir;
  }
  return "/nonexistent";  // every use of it fails with a message that names the path
}

fs::path xdg(const char* variable, const char* below_home) {
  const char* value = std::getenv(variable);
  return (value && *value == '/' ? fs::path(value) : home() / below_home) / "foretoken";
}

fs::path runtime_folder() {
  const char* value = std::getenv("XDG_RUNTIME_DIR");
  if (value && *value == '/') return fs::path(value) / "foretoken";
  return "/tmp/foretoken-" + std::to_string(geteuid());
}

/// build/release/foretoken has its files in build/release/share/foretoken, an installed
/// PREFIX/bin/foretoken in PREFIX/share/foretoken.
fs::path share_of_this_program() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& candidate : {folder / "share/foretoken", folder / "../share/foretoken"}) {
    if (fs::exists(candidate / "models.json", error)) return candidate.lexically_normal();
  }
  return folder / "share/foretoken";
}

}  // namespace

Paths Paths::from_environment() {
  return {.share = share_of_this_program(),
          .cache = xdg("XDG_CACHE_HOME", ".cache"),
          .config = xdg("XDG_CONFIG_HOME", ".config"),
          .runtime = runtime_folder()};
}

std::string short_path(const fs::path& path) {
  const std::string whole = path.string(), prefix = home().string() + "/";
  return whole.starts_with(prefix) ? "~/" + whole.substr(prefix.size()) : whole;
}

}  // namespace foretoken::lsp

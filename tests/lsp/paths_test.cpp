#include "lsp/paths.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <optional>

namespace foretoken::lsp {
namespace {

/// Sets variables (null: unset) and puts the old ones back.
class Environment {
 public:
  void set(const std::string& name, const char* value) {
    const char* old = std::getenv(name.c_str());
    before_.try_emplace(name, old ? std::optional<std::string>(old) : std::nullopt);
    value ? setenv(name.c_str(), value, 1) : unsetenv(name.c_str());
  }
  ~Environment() {
    for (const auto& [name, value] : before_) {
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    }
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

TEST(Paths, FollowTheXdgRules) {
  Environment environment;
  environment.set("HOME", "/home/someone");
  environment.set("XDG_CACHE_HOME", nullptr);
  environment.set("XDG_CONFIG_HOME", "/etc/mine");
  EXPECT_EQ(Paths::from_environment().models(), "/home/someone/.cache/foretoken/models");
  EXPECT_EQ(Paths::from_environment().config_file(), "/etc/mine/foretoken/config.json");
  environment.set("XDG_CACHE_HOME", "relative/is/ignored");
  EXPECT_EQ(Paths::from_environment().cache, "/home/someone/.cache/foretoken");
  environment.set("XDG_CACHE_HOME", "");
  EXPECT_EQ(Paths::from_environment().cache, "/home/someone/.cache/foretoken");
  environment.set("HOME", nullptr);  // then the user's entry in the password file
  EXPECT_TRUE(Paths::from_environment().cache.is_absolute());
}

TEST(Paths, WhatCameWithTheProgramIsFound) {
  const Paths paths = Paths::from_environment();
  EXPECT_TRUE(std::filesystem::exists(paths.share / "models.json")) << paths.share;
  EXPECT_TRUE(std::filesystem::exists(paths.share / "pocket-q8_0.gguf"));
}

TEST(Paths, AreShortInMessages) {
  Environment environment;
  environment.set("HOME", "/home/someone");
  EXPECT_EQ(short_path("/home/someone/.cache/x"), "~/.cache/x");
  EXPECT_EQ(short_path("/home/someoneelse/x"), "/home/someoneelse/x");
}

}  // namespace
}  // namespace foretoken::lsp

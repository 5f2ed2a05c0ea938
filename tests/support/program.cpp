#include "tests/support/program.h"

#include <sys/wait.h>

#include <cstdlib>

namespace foretoken::test {

Program::Program() { std::filesystem::create_directories(folder_ / "home"); }

Ran Program::run(const std::string& arguments, const std::string& input) const {
  const auto in = folder_.write(".stdin", input), out = folder_ / ".stdout", err = folder_ / ".stderr";
  const std::string home = (folder_ / "home").string();
  // Redirections among the arguments stand behind these and win.
  const auto script = folder_.write(
      ".script", "export HOME='" + home + "' XDG_CACHE_HOME='" + home + "/cache' XDG_CONFIG_HOME='" + home +
                     "/config' XDG_RUNTIME_DIR='" + home + "/run'; unset FORETOKEN_MODEL\nexec '" FORETOKEN_BINARY "' <'" + in.string() +
                     "' >'" + out.string() + "' 2>'" + err.string() + "' " + arguments + "\n");
  const std::string command = "cd '" + folder_.path().string() + "' && bash '" + script.string() + "'";
  const int status = std::system(command.c_str());
  Ran ran;
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = read_file(out);
  ran.errors = read_file(err);
  return ran;
}

}  // namespace foretoken::test

// Runs another program: arguments as they are, never through a shell.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::lsp {

struct CommandResult {
  int status = 127;      // exit status; 128 + signal where a signal ended it; 127: not found
  std::string errors;    // the last 4 KiB of what it said on stderr
  bool stopped = false;  // `go_on` said no
};

/// Runs argv[0] (looked up in PATH) in a process group of its own, with stdin empty and with
/// `settings` ("NAME=value") added to the environment. What it prints goes to `output` piece by
/// piece (an exception there ends the program and passes on). `go_on` is asked about ten times a
/// second; when it says no the group is ended. `started` is told the process id. Waits for the end
/// in every case. Any thread, and everything is called on it.
CommandResult run_command(const std::vector<std::string>& argv,
                          const std::vector<std::string>& settings,
                          const std::function<void(std::string_view)>& output,
                          const std::function<bool()>& go_on,
                          const std::function<void(int)>& started = {});

}  // namespace foretoken::lsp

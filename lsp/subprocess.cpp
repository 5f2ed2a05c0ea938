#include "lsp/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "lsp/private_folder.h"

extern char** environ;

namespace foretoken::lsp {
namespace {

struct Pipe {
  Fd read, write;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      throw std::runtime_error(std::string("cannot make a pipe: ") + std::strerror(errno));
    }
    read = Fd(ends[0]);
    write = Fd(ends[1]);
  }
};

/// The environment with `settings` put in the place of variables of the same name.
std::vector<std::string> merged_environment(const std::vector<std::string>& settings) {
  std::vector<std::string> all = settings;
  for (char** item = environ; *item; ++item) {
    const std::string_view text = *item, name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& setting : settings) replaced |= setting.starts_with(name);
    if (!replaced) all.emplace_back(text);
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// A child that is ended and waited for whatever happens.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) {
      end();
      wait();
    }
  }
  void end() { kill(-pid_, SIGTERM); }
  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

pid_t spawn(std::vector<std::string> argv, std::vector<std::string> environment, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0].c_str(), &actions, &attributes,
                                 pointers(argv).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error == 0 ? pid : -1;
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& argv,
                          const std::vector<std::string>& settings,
                          const std::function<void(std::string_view)>& output,
                          const std::function<bool()>& go_on,
                          const std::function<void(int)>& started) {
  Pipe out, err;
  const pid_t pid = spawn(argv, merged_environment(settings), out.write.get(), err.write.get());
  if (pid < 0) return {.errors = argv[0] + " cannot be started"};
  Child child(pid);
  if (started) started(pid);
  out.write = Fd();
  err.write = Fd();

  CommandResult result;
  std::array<pollfd, 2> ends{{{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}}};
  std::vector<char> buffer(1 << 18);
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    poll(ends.data(), ends.size(), 100);
    for (pollfd& end : ends) {
      if (end.fd < 0 || !(end.revents & (POLLIN | POLLHUP | POLLERR))) continue;
      const ssize_t got = read(end.fd, buffer.data(), buffer.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      const std::string_view text(buffer.data(), got > 0 ? size_t(got) : 0);
      if (text.empty()) {
        end.fd = -1;
      } else if (&end == &ends[0]) {
        output(text);
      } else {
        result.errors.append(text);
        if (result.errors.size() > 4096) result.errors.erase(0, result.errors.size() - 4096);
      }
    }
    if (!result.stopped && !go_on()) {
      result.stopped = true;
      child.end();
    }
  }
  result.status = child.wait();
  return result;
}

}  // namespace foretoken::lsp

#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace foretoken::lsp {
namespace {

std::array<Fd, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& argv) {
  ::signal(SIGPIPE, SIG_IGN);
  auto [in_read, in_write] = make_pipe();
  auto [out_read, out_write] = make_pipe();
  auto [err_read, err_write] = make_pipe();
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  id_ = ::fork();
  if (id_ < 0) throw std::runtime_error("fork");
  if (id_ == 0) {
    ::dup2(in_read.get(), 0);
    ::dup2(out_write.get(), 1);
    ::dup2(err_write.get(), 2);
    ::signal(SIGPIPE, SIG_DFL);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  in_ = std::move(in_write);
  out_ = std::move(out_read);
  err_ = std::move(err_read);
}

ChildProcess::~ChildProcess() {
  if (status_) return;
  ::kill(id_, SIGKILL);
  ::waitpid(id_, nullptr, 0);
}

bool ChildProcess::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(in_.get(), bytes.data(), bytes.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::optional<std::string> ChildProcess::receive() {
  while (frames_.empty()) {
    pollfd ready{out_.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) != 1)
      return std::nullopt;
    std::array<char, 65536> buffer{};
    const ssize_t got = ::read(out_.get(), buffer.data(), buffer.size());
    if (got <= 0) return std::nullopt;
    reader_.feed({buffer.data(), static_cast<size_t>(got)}, [&](Frame frame) {
      frames_.push_back(frame.kind == Frame::Kind::message ? frame.text
                                                           : "not a frame: " + frame.text);
    });
  }
  std::string first = std::move(frames_.front());
  frames_.erase(frames_.begin());
  return first;
}

std::optional<int> ChildProcess::wait() {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!status_ && std::chrono::steady_clock::now() < until) {
    int status = 0;
    if (::waitpid(id_, &status, WNOHANG) == id_) {
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  return status_;
}

std::string ChildProcess::errors() {
  std::string out;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(err_.get(), buffer.data(), buffer.size());
    if (got <= 0) return out;
    out.append(buffer.data(), static_cast<size_t>(got));
  }
}

uint64_t ChildProcess::resident_bytes() const {
  std::ifstream statm("/proc/" + std::to_string(id_) + "/statm");
  uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

double ChildProcess::cpu_seconds() const {
  std::ifstream stat("/proc/" + std::to_string(id_) + "/stat");
  std::string text(std::istreambuf_iterator<char>(stat), {});
  text = text.substr(text.rfind(')') + 1);
  size_t at = 0;
  for (int field = 0; field < 12; ++field) at = text.find(' ', at) + 1;  // utime and stime follow
  size_t used = 0;
  const double user = std::stod(text.substr(at), &used);
  return (user + std::stod(text.substr(at + used))) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void ChildProcess::kill(int signal) const {
  ::kill(id_, signal);
}

}  // namespace foretoken::lsp

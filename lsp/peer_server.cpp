#include "lsp/peer_server.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "lsp/fd.h"
#include "lsp/subprocess.h"
#include "lsp/text.h"

namespace foretoken::lsp {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLoading{120};
constexpr long kAnswerSeconds = 120;
constexpr size_t kLongestAnswer = 4u << 20;

double ms(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

/// A port that was free a moment ago.
int free_port() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), generic, sizeof address) != 0 ||
      ::getsockname(socket.get(), generic, &size) != 0) {
    throw std::runtime_error("no free port on loopback");
  }
  return ntohs(address.sin_port);
}

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const size_t newline = text.rfind('\n');
  return newline == std::string::npos ? text : text.substr(newline + 1);
}

/// Server-sent events of one answer, read as they come.
struct Stream {
  Clock::time_point start = Clock::now();
  std::string left;  // an event that has not ended
  std::string all;   // for what is no event: an error as plain JSON
  PeerAnswer answer;
  bool finished = false;

  void event(std::string_view line) {
    if (!line.starts_with("data: ")) return;
    const json data = json::parse(line.substr(6), nullptr, /*allow_exceptions=*/false);
    if (!data.is_object()) return;
    const std::string content = data.value("content", std::string());
    if (!content.empty() && answer.ttft_ms == 0) answer.ttft_ms = ms(Clock::now() - start);
    answer.text += content;
    if (!data.value("stop", false)) return;
    finished = true;
    answer.output_tokens = data.value("tokens_predicted", 0);
    const json timings = data.value("timings", json::object());
    answer.new_tokens = timings.value("prompt_n", 0);
    answer.reused_tokens = timings.value("cache_n", 0);
  }
  bool bytes(std::string_view data) {
    left += data;
    if (all.size() < 4096) all += data;
    for (size_t end = left.find('\n'); end != std::string::npos; end = left.find('\n')) {
      event(std::string_view(left).substr(0, end));
      left.erase(0, end + 1);
    }
    return left.size() + answer.text.size() < kLongestAnswer;
  }
  static size_t on_bytes(char* data, size_t, size_t size, void* self) {
    try {
      return static_cast<Stream*>(self)->bytes({data, size}) ? size : 0;
    } catch (const std::exception&) {  // JSON of other types than promised
      return 0;
    }
  }
};

}  // namespace

/// A kept-open HTTP connection. Front thread.
struct PeerServer::Connection {
  CURL* curl = curl_easy_init();
  curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
  ~Connection() {
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
  }
  /// The HTTP status; 0 where there was none.
  long exchange(const std::string& url, const std::string* body, long seconds, Stream& stream) {
    curl_easy_reset(curl);  // keeps the connection
    const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl, option, value); };
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http");
    set(CURLOPT_NOPROXY, "*");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TIMEOUT, seconds);
    set(CURLOPT_HTTPHEADER, headers);
    if (body) {
      set(CURLOPT_POSTFIELDS, body->c_str());
      set(CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body->size()));
    }
    set(CURLOPT_WRITEFUNCTION, &Stream::on_bytes);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&stream));
    long status = 0;
    if (curl_easy_perform(curl) != CURLE_OK) return 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
  }
};

std::string peer_version(const std::string& binary) {
  std::string said;
  const auto until = Clock::now() + std::chrono::seconds(10);
  CommandResult ran = run_command(
      {binary, "--version"}, {}, [&](std::string_view text) { if (said.size() < 4096) said += text; },
      [&] { return Clock::now() < until; });
  said += ran.errors;
  const size_t version = said.find("version: ");
  if (ran.status != 0 || version == std::string::npos) {
    throw std::runtime_error("--peer-server " + binary + ": no llama-server that runs here (" +
                             (ran.stopped      ? "it does not end when asked for --version"
                              : said.empty()   ? "its --version says nothing"
                                               : last_line(said)) + ")");
  }
  said = said.substr(version);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  for (size_t at = said.find('\n'); at != std::string::npos; at = said.find('\n', at)) {
    said.replace(at, 1, "; ");
  }
  return valid_utf8(said);
}

PeerServer::PeerServer(std::vector<std::string> command, const std::function<bool()>& interrupted)
    : name_(command.front()), connection_(std::make_unique<Connection>()) {
  if (!connection_->curl) throw std::runtime_error("libcurl cannot start");
  const std::string port = std::to_string(free_port());
  address_ = "http://127.0.0.1:" + port;
  command.insert(command.end(), {"--host", "127.0.0.1", "--port", port});
  runner_ = std::jthread([this, command = std::move(command)](std::stop_token stop) {
    std::string errors;
    try {
      const CommandResult result =
          run_command(command, {}, [](std::string_view) {}, [&] { return !stop.stop_requested(); },
                      [this](int process) { process_ = process; });
      errors = last_line(result.errors);
    } catch (const std::exception& failure) {
      errors = failure.what();
    }
    {
      const std::lock_guard lock(mutex_);
      errors_ = std::move(errors);
    }
    ended_ = true;
  });
  const auto until = Clock::now() + kLoading;
  while (!healthy()) {
    if (interrupted()) throw std::runtime_error("interrupted");
    if (ended_) throw std::runtime_error(name_ + " ended before it was ready: " + last_words());
    if (Clock::now() > until) throw std::runtime_error(name_ + " is not ready after two minutes");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

PeerServer::~PeerServer() = default;

std::string PeerServer::last_words() {
  const std::lock_guard lock(mutex_);
  return errors_;
}

bool PeerServer::healthy() {
  Stream nothing;
  return connection_->exchange(address_ + "/health", nullptr, 2, nothing) == 200;
}

PeerAnswer PeerServer::infill(const PeerQuestion& question) {
  const std::string body = json{{"input_prefix", valid_utf8(question.prefix)},
                                {"prompt", valid_utf8(question.line)},
                                {"input_suffix", valid_utf8(question.suffix)},
                                {"n_predict", question.max_tokens},
                                {"temperature", 0},
                                {"top_k", 1},
                                {"samplers", {"top_k"}},
                                {"ignore_eos", true},
                                {"cache_prompt", true},
                                {"stream", true}}
                               .dump();
  Stream stream;
  const long status = connection_->exchange(address_ + "/infill", &body, kAnswerSeconds, stream);
  stream.answer.total_ms = ms(Clock::now() - stream.start);
  if (status != 200 || !stream.finished) {
    throw std::runtime_error(name_ + ": /infill gave no answer (HTTP " + std::to_string(status) + "): " +
                             (ended_ ? last_words() : valid_utf8(stream.all).substr(0, 300)));
  }
  return std::move(stream.answer);
}

double PeerServer::cpu_ms() const {
  std::ifstream stat("/proc/" + std::to_string(process_.load()) + "/stat");
  std::string line;
  std::getline(stat, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) * 1000 / double(::sysconf(_SC_CLK_TCK));
}

}  // namespace foretoken::lsp

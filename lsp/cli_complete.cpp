#include "lsp/cli_complete.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "lsp/answer_json.h"
#include "lsp/completion.h"
#include "lsp/engine_loader.h"
#include "lsp/standard_streams.h"
#include "lsp/workspace.h"

namespace foretoken::lsp {
namespace {

using nlohmann::json;

constexpr int kMostTokens = 4096;
constexpr size_t kLargestFile = 64u << 20;  // as the server's largest message

/// A request that cannot be answered: the text is what the user reads.
struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string read_all(int fd, const std::string& name) {
  std::string text;
  char chunk[1 << 16];
  while (true) {
    const ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Failed(name + ": " + std::strerror(errno));
    if (n == 0) return text;
    text.append(chunk, size_t(n));
    if (text.size() > kLargestFile) throw Failed(name + ": larger than 64 MiB");
  }
}

std::string read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw Failed(path + ": " + std::strerror(errno));
  struct stat info {};
  std::string text;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    throw Failed(path + ": not a regular file");
  }
  try {
    text = read_all(fd, path);
  } catch (...) {
    close(fd);
    throw;
  }
  close(fd);
  return text;
}

struct Place {
  std::string file;
  size_t line = 0, col = 0;  // from 1
};

/// "a.py:3:7"; nullopt where it does not read so.
std::optional<Place> parse_place(const std::string& text) {
  const size_t second = text.rfind(':');
  if (second == std::string::npos || second == 0) return std::nullopt;
  const size_t first = text.rfind(':', second - 1);
  if (first == std::string::npos || first == 0) return std::nullopt;
  const auto number = [](std::string_view digits) -> std::optional<size_t> {
    size_t value = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (fault != std::errc() || end != digits.data() + digits.size() || value == 0) return {};
    return value;
  };
  const std::string_view all = text;
  const auto line = number(all.substr(first + 1, second - first - 1));
  const auto col = number(all.substr(second + 1));
  if (!line || !col) return std::nullopt;
  return Place{text.substr(0, first), *line, *col};
}

size_t cursor_of(const Snapshot& document, const std::string& name, size_t line, size_t col) {
  if (line > document.lines().lines()) {
    throw Failed(name + ": line " + std::to_string(line) + " is past the end; the file has " +
                 std::to_string(document.lines().lines()) + " lines");
  }
  const size_t start = document.lines().start(line - 1);
  const size_t end = document.lines().content_end(document.text(), line - 1);
  if (col - 1 > end - start) {
    throw Failed(name + ": column " + std::to_string(col) + " is past the end of line " +
                 std::to_string(line) + ", which has " + std::to_string(end - start) + " bytes");
  }
  return start + col - 1;
}

/// The name the model sees: as the server shows it for the same file in the same folder.
std::string shown_path(const std::string& path, const Snapshot& document, const Options& options) {
  if (path.empty()) return path;
  namespace fs = std::filesystem;
  const fs::path root = options.root.empty() ? fs::current_path() : fs::absolute(options.root);
  Workspace workspace;
  workspace.set({uri_of_path(root.lexically_normal().string())});
  return workspace.shown_path(document.uri());
}

std::shared_ptr<const Snapshot> snapshot_of(const std::string& path, std::string text) {
  const std::string absolute =
      path.empty() ? "/untitled" : std::filesystem::absolute(path).lexically_normal().string();
  return std::make_shared<Snapshot>(uri_of_path(absolute), "", 0, std::move(text));
}

CompletionAnswer complete_now(Completer& completer, CompletionQuery query) {
  std::promise<CompletionAnswer> answered;
  completer.start(std::move(query), [&answered](CompletionAnswer answer) {
    answered.set_value(std::move(answer));
  });
  CompletionAnswer answer = answered.get_future().get();
  if (!answer.error.empty()) throw Failed(answer.error);
  return answer;
}

std::optional<engine::Mode> mode_of(std::string_view name) {
  for (const auto mode : {engine::Mode::decide, engine::Mode::word, engine::Mode::line,
                          engine::Mode::block}) {
    if (name == engine::name(mode)) return mode;
  }
  return std::nullopt;
}

/// Loads the model at the first request that needs one: `raw` requests do without.
class LazyCompleter {
 public:
  /// Where the answer must not depend on what others ask, `share` is never.
  LazyCompleter(const Options& options, Share share) : options_(options), share_(share) {
    options_.idle_ms = 0;  // what is computed ahead depends on the clock
  }
  Completer& get(bool raw) {
    if (raw) return raw_;
    if (!completer_) {
      completer_ = std::make_unique<EngineCompleter>(
          open_engine(announced_model(options_), options_, share_, report), options_);
    }
    return *completer_;
  }

 private:
  struct RawCompleter : Completer {
    Ticket start(CompletionQuery query, Done done) override {
      done(answer_raw(query));
      return 0;
    }
    void cancel(Ticket) override {}
  };
  Options options_;
  const Share share_;
  RawCompleter raw_;
  std::unique_ptr<EngineCompleter> completer_;
};

int run_one(const CompleteArguments& arguments, const Options& options) {
  const std::optional<Place> place = parse_place(arguments.place);
  if (!place) {
    report("complete: expected FILE:LINE:COL, both counted from 1, got \"" + arguments.place + "\"");
    return 2;
  }
  const bool from_stdin = place->file == kStdinFile;
  const std::string path = from_stdin ? arguments.path : place->file;
  CompletionQuery query;
  query.document = snapshot_of(path, from_stdin ? read_all(STDIN_FILENO, "stdin") : read_file(path));
  query.cursor = cursor_of(*query.document, from_stdin ? "stdin" : path, place->line, place->col);
  query.path = shown_path(path, *query.document, options);
  query.mode = *mode_of(arguments.mode);
  query.max_tokens = arguments.max_tokens;
  query.reuse = !arguments.no_cache;
  query.want_card = arguments.card;
  query.want_prompt = arguments.dump_prompt;
  query.want_hashes = arguments.hashes;
  query.from_engine = arguments.from_engine;
  const std::shared_ptr<const Snapshot> document = query.document;

  LazyCompleter completer(options, Share::attach);
  const CompletionAnswer answer = complete_now(completer.get(false), std::move(query));
  if (arguments.json || arguments.card) {
    std::cout << answer_json(*document, answer, arguments.card, arguments.dump_prompt).dump() << "\n";
  } else if (arguments.dump_prompt) {
    std::cout << answer.prompt;
  } else {
    std::cout << with_line_ends(answer.text, document->line_end()) << "\n";
    if (answer.text.empty()) report("no completion: " + answer.reason);
  }
  return 0;
}

/// A field of a request line, checked.
template <typename T>
T field(const json& request, const char* name, T fallback) {
  const auto it = request.find(name);
  if (it == request.end() || it->is_null()) return fallback;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!it->is_string()) throw Failed(std::string(name) + " must be a string");
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!it->is_boolean()) throw Failed(std::string(name) + " must be true or false");
  } else {
    if (!it->is_number_integer() || it->get<int64_t>() < 0 || it->get<int64_t>() > INT32_MAX) {
      throw Failed(std::string(name) + " must be a whole number from 0 to 2147483647");
    }
  }
  return it->get<T>();
}

std::vector<engine::ContextItem> read_context(const json& items) {
  if (!items.is_array()) throw Failed("context must be a list of {path, text}");
  std::vector<engine::ContextItem> context;
  for (const json& item : items) {
    if (!item.is_object()) throw Failed("context must be a list of {path, text}");
    engine::ContextItem read;
    read.path = field<std::string>(item, "path", "");
    read.text = to_lf(field<std::string>(item, "text", ""));
    if (!read.text.empty() && read.text.back() != '\n') read.text += '\n';
    context.push_back(std::move(read));
  }
  return context;
}

CompletionQuery read_request(const json& request, const CompleteArguments& arguments,
                             const Options& options) {
  if (!request.is_object()) throw Failed("a request is a JSON object");
  CompletionQuery query;
  const std::string path = field<std::string>(request, "path", "");
  const auto given = [&](const char* name) {
    return request.contains(name) && !request[name].is_null();
  };
  const bool halves = given("prefix") || given("suffix");
  if (halves == given("text")) {
    throw Failed("a request has either text, line and col, or prefix and suffix");
  }
  if (halves) {
    const std::string prefix = field<std::string>(request, "prefix", "");
    query.document = snapshot_of(path, prefix + field<std::string>(request, "suffix", ""));
    query.cursor = prefix.size();
  } else {
    query.document = snapshot_of(path, field<std::string>(request, "text", ""));
    const int line = field<int>(request, "line", 0), col = field<int>(request, "col", 0);
    if (!given("line") || !given("col")) throw Failed("text goes with line and col");
    if (line < 1 || col < 1) throw Failed("line and col count from 1");
    query.cursor = cursor_of(*query.document, path.empty() ? "text" : path, size_t(line), size_t(col));
  }
  query.path = shown_path(path, *query.document, options);
  const std::string mode = field<std::string>(request, "mode", arguments.mode);
  if (!mode_of(mode)) throw Failed("mode is decide, word, line or block, not \"" + mode + "\"");
  query.mode = *mode_of(mode);
  query.max_tokens = field<int>(request, "max_tokens", arguments.max_tokens);
  if (query.max_tokens > kMostTokens) {
    throw Failed("max_tokens is at most " + std::to_string(kMostTokens));
  }
  query.reuse = !arguments.no_cache;
  query.want_card = field<bool>(request, "card", arguments.card);
  query.want_prompt = field<bool>(request, "dump_prompt", arguments.dump_prompt);
  query.want_hashes = field<bool>(request, "hashes", arguments.hashes);
  query.from_engine = field<bool>(request, "from_engine", arguments.from_engine);
  if (given("context")) query.context = read_context(request["context"]);
  if (given("raw")) query.raw = field<std::string>(request, "raw", "");
  return query;
}

int run_stream(const CompleteArguments& arguments, const Options& options) {
  require_stdin();
  LazyCompleter completer(options, Share::never);  // a replay depends on nobody else
  std::string line;
  for (size_t number = 1; std::getline(std::cin, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    nlohmann::ordered_json out;
    json request = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (request.is_object() && request.contains("id")) out["id"] = request["id"];
    try {
      if (request.is_discarded()) {
        throw Failed("line " + std::to_string(number) + " is no valid JSON");
      }
      CompletionQuery query = read_request(request, arguments, options);
      const bool card = query.want_card, prompt = query.want_prompt, raw = query.raw.has_value();
      const std::shared_ptr<const Snapshot> document = query.document;
      const CompletionAnswer answer = complete_now(completer.get(raw), std::move(query));
      out.update(answer_json(*document, answer, card, prompt));
    } catch (const Failed& failure) {
      if (!out.contains("id")) out["id"] = nullptr;
      out["error"] = valid_utf8(failure.what());
    }
    std::cout << out.dump() << std::endl;  // flushed one by one
    if (!std::cout) return 1;  // told by flush_stdout
  }
  return 0;
}

}  // namespace

void add_complete_flags(CLI::App& command, CompleteArguments& arguments) {
  command.add_option("place", arguments.place,
                     "FILE:LINE:COL, counted from 1, columns in bytes; - reads the file from stdin");
  command.add_option("--path", arguments.path, "name of the file that comes from stdin");
  command.add_option("--mode", arguments.mode, "how much to complete: decide, word, line or block")
      ->check(CLI::IsMember({"decide", "word", "line", "block"}));
  command.add_option("--max-tokens", arguments.max_tokens, "most tokens to generate; 0: the mode's default")
      ->check(CLI::Range(0, kMostTokens));
  command.add_flag("--json", arguments.json, "print one JSON object: text, range, source, timings");
  command.add_flag("--jsonl", arguments.jsonl, "answer requests, one JSON object per line of stdin; always an engine of its own");
  command.add_flag("--card", arguments.card, "add where each part of the prompt came from (JSON)");
  command.add_flag("--dump-prompt", arguments.dump_prompt, "print the exact prompt");
  command.add_flag("--hashes", arguments.hashes, "add a hash of the logits of every step (JSON)");
  command.add_flag("--from-engine", arguments.from_engine,
                   "ask the model even where an earlier suggestion answers");
  command.add_flag("--no-cache", arguments.no_cache, "compute every prompt from nothing");
}

int run_complete(const CompleteArguments& arguments, const Options& options) {
  if (arguments.jsonl == !arguments.place.empty()) {
    report("complete: name a place, FILE:LINE:COL, or ask for --jsonl");
    return 2;
  }
  try {
    return arguments.jsonl ? run_stream(arguments, options) : run_one(arguments, options);
  } catch (const std::exception& failure) {
    report(failure.what());
    return 1;
  }
}

}  // namespace foretoken::lsp

#include "lsp/cli_bench_keystroke.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "lsp/completion.h"
#include "lsp/engine_loader.h"
#include "lsp/interrupt.h"
#include "lsp/keystroke_report.h"
#include "lsp/local_engine.h"
#include "lsp/model_choice.h"
#include "lsp/peer_comparison.h"
#include "lsp/peer_server.h"
#include "lsp/standard_streams.h"

namespace foretoken::lsp {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr size_t kLargestFile = 16u << 20;
constexpr char kNoPhase[] = "none";

struct TypedFile {
  TypedDocument document;
  std::string text;
};

TypedFile read_typed_file(const std::string& path) {
  std::error_code fault;
  if (!fs::is_regular_file(path, fault)) throw std::runtime_error(path + ": not a regular file");
  if (fs::file_size(path, fault) > kLargestFile) throw std::runtime_error(path + ": larger than 16 MiB");
  std::ifstream stream(path, std::ios::binary);
  TypedFile file;
  file.text.assign(std::istreambuf_iterator<char>(stream), {});
  if (!stream) throw std::runtime_error(path + ": cannot be read");
  if (file.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw std::runtime_error(path + ": there is nothing to type in it");
  }
  const fs::path absolute = fs::absolute(path).lexically_normal();
  file.document = {uri_of_path(absolute.string()), absolute.filename().string()};
  return file;
}

/// The names between commas.
std::vector<std::string> phase_names(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream stream(text);
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

/// The first name that is none; "": there is no such.
std::string unknown_phase(const std::string& text) {
  for (const std::string& one : phase_names(text)) {
    const bool known = std::ranges::any_of(kPhases, [&](Phase phase) { return one == name(phase); });
    if (!known && one != kNoPhase) return one;
  }
  return "";
}

/// Each phase at a place of its own: one does not warm the cache for the next.
double place_of(Phase phase) { return 0.45 + 0.08 * double(phase); }

std::vector<KeyRecord> play_phases(Completer& completer, const std::vector<TypedFile>& files,
                                   const BenchKeystrokeArguments& arguments, uint64_t seed,
                                   ordered_json& skipped) {
  std::vector<KeyRecord> records;
  const std::vector<std::string> wanted = phase_names(arguments.phases);
  for (const Phase phase : kPhases) {
    if (!wanted.empty() && std::ranges::find(wanted, name(phase)) == wanted.end()) continue;
    const size_t count = phase == Phase::two_files ? 2 : 1;
    if (files.size() < count) {
      skipped.push_back({{"name", name(phase)}, {"why", "it takes two files"}});
      continue;
    }
    std::vector<TypedRegion> regions;
    std::vector<TypedDocument> documents;
    for (size_t i = 0; i < count; ++i) {
      const TypedFile& file = files[count == 2 ? i : size_t(phase) % files.size()];
      regions.push_back(choose_region(file.text, place_of(phase), size_t(arguments.keys)));
      documents.push_back(file.document);
    }
    const TypingScript script = make_typing_script(regions, phase, seed, size_t(arguments.keys));
    const auto played = play(completer, script, documents, phase,
                             arguments.pace == "fast" ? Pace::fast : Pace::real);
    records.insert(records.end(), played.begin(), played.end());
  }
  return records;
}

/// The files' places by turns.
std::vector<PeerPlace> places_in(const std::vector<TypedFile>& files, const engine::Tokenizer& tokenizer,
                                 uint64_t seed, size_t most) {
  std::vector<std::vector<PeerPlace>> each;
  for (const TypedFile& file : files) {
    each.push_back(choose_peer_places(tokenizer, file.document.path, file.text, seed, most));
  }
  std::vector<PeerPlace> places;
  for (size_t i = 0; i < most; ++i) {
    for (auto& of_file : each) {
      if (i < of_file.size()) places.push_back(std::move(of_file[i]));
    }
  }
  if (places.empty()) {
    throw std::runtime_error("none of the files has a line with 1450 tokens before and 500 behind it; "
                             "give larger ones");
  }
  return places;
}

}  // namespace

void add_bench_keystroke_flags(CLI::App& command, BenchKeystrokeArguments& arguments) {
  command.add_option("files", arguments.files, "files to type in; two or more for the phase two_files")
      ->required();
  command.add_option("--phases", arguments.phases,
                     "some of steady, bursts, backspaces, line_breaks, two_files, accept, separated by "
                     "commas; none: no typing")
      ->check([](const std::string& text) {
        const std::string wrong = unknown_phase(text);
        return wrong.empty() ? "" : "there is no phase \"" + wrong + "\"";
      });
  command.add_option("--pace", arguments.pace,
                     "real: keys at their time, answered or not; fast: each when the last is answered")
      ->check(CLI::IsMember({"real", "fast"}));
  command.add_option("--keys", arguments.keys, "keys in each phase (default 120)")
      ->check(CLI::Range(1, 100000));
  command.add_option("--peer-server", arguments.peer_server,
                     "a llama-server binary to measure beside this engine, one warm keystroke at a time");
  command.add_option("--peer-keys", arguments.peer_keys, "keys that count there (default 24)")
      ->check(CLI::Range(1, 10000));
  command.add_flag("--json", arguments.json, "print one JSON object");
}

int run_bench_keystroke(const BenchKeystrokeArguments& arguments, const Options& options) {
  if (arguments.phases == kNoPhase && arguments.peer_server.empty()) {
    report("--phases none measures nothing without --peer-server");
    return 2;
  }
  try {
    std::vector<TypedFile> files;
    for (const std::string& path : arguments.files) files.push_back(read_typed_file(path));
    PeerComparisonSetup peer;
    peer.binary = arguments.peer_server;
    if (!peer.binary.empty()) peer.version = peer_version(peer.binary);

    const ModelChoice choice = announced_model(options);
    const bool replay = arguments.pace == "fast";  // then nothing depends on the clock
    Options settings = options;
    if (replay) settings.idle_ms = 0;
    const engine::EngineOptions how{replay, std::chrono::milliseconds(settings.idle_ms)};
    const auto link = std::make_shared<LocalEngine>(
        std::make_shared<engine::Engine>(load_runtime(choice, settings), how));
    EngineCompleter completer(link, settings);
    const engine::Runtime& runtime = link->engine().runtime();
    peer.model_file = choice.path.string();
    peer.threads = runtime.backend().threads();
    peer.keys = arguments.peer_keys;
    std::vector<PeerPlace> places;  // before the long part: files that will not do are told at once
    if (!peer.binary.empty()) {
      places = places_in(files, runtime.tokenizer(), options.seed, size_t(arguments.peer_keys));
    }

    ordered_json out = {{"model", link->model_name()},
                        {"backend", link->backend_name()},
                        {"threads", runtime.backend().threads()},
                        {"window_tokens", runtime.window()},
                        {"pace", arguments.pace},
                        {"seed", options.seed},
                        {"keys_per_phase", arguments.keys},
                        {"files", ordered_json::array()}};
    for (const TypedFile& file : files) {
      out["files"].push_back({{"name", valid_utf8(file.document.path)}, {"bytes", file.text.size()}});
    }
    ordered_json skipped = ordered_json::array();
    const auto records = play_phases(completer, files, arguments, options.seed, skipped);
    for (const KeyRecord& record : records) {
      if (!record.error.empty()) throw std::runtime_error(record.error);
    }
    if (!records.empty()) out.update(keystrokes_json(records));
    out["skipped"] = std::move(skipped);
    if (!places.empty()) {
      const InterruptWatch watch;  // the server ends with this process
      out["peer"] = compare_with_peer(completer, places, peer, InterruptWatch::seen);
    }
    if (arguments.json) {
      std::cout << out.dump() << "\n";
      return 0;
    }
    std::cout << link->model_name() << " on " << link->backend_name() << ", "
              << runtime.backend().threads() << " threads, " << arguments.pace << " pace\n";
    if (!records.empty()) std::cout << keystrokes_table(out);
    for (const ordered_json& phase : out["skipped"]) {
      std::cout << phase["name"].get<std::string>() << " left out: " << phase["why"].get<std::string>() << "\n";
    }
    if (out.contains("peer")) std::cout << peer_table(out["peer"]);
    return 0;
  } catch (const std::exception& failure) {
    report(failure.what());
    return 1;
  }
}

}  // namespace foretoken::lsp

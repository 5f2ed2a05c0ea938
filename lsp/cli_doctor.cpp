#include "lsp/cli_doctor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/gguf.h"
#include "kernels/backend.h"
#include "lsp/machine.h"
#include "lsp/model_choice.h"
#include "lsp/model_facts.h"
#include "lsp/pull.h"
#include "lsp/standard_streams.h"

namespace foretoken::lsp {
namespace {

using Json = nlohmann::ordered_json;

/// One finding: shown as a line, kept as JSON.
struct Row {
  std::string label, text;
};

/// What was found out, in both forms. `trouble` holds what keeps a completion from being made.
struct Report {
  std::vector<Row> rows;
  Json json = Json::object();
  std::vector<std::string> trouble;
  void row(std::string label, std::string text) {
    rows.push_back({std::move(label), std::move(text)});
  }
};

void look_at_machine(const Machine& machine, const Options& options, Report& report) {
  const int threads = options.threads > 0 ? options.threads : machine.processors;
  const double bandwidth = measured_read_bandwidth(threads);
  report.row("Processor", machine.processor + ", " + std::to_string(machine.processors) +
                              (machine.processors == 1 ? " thread" : " threads") + " usable");
  report.row("Memory", human_bytes(machine.memory_total) + ", " +
                           human_bytes(machine.memory_available) + " free; read at " +
                           human_bytes(uint64_t(bandwidth)) + "/s");
  const std::string pages = machine.huge_pages.empty() ? "unknown" : machine.huge_pages;
  report.row("Huge pages",
             pages == "never" ? "never: weights lie in small pages, a little slower" : pages);
  report.json["machine"] = {{"processor", machine.processor},
                            {"threads", machine.processors},
                            {"memory_total", machine.memory_total},
                            {"memory_available", machine.memory_available},
                            {"memory_bytes_per_s", uint64_t(bandwidth)},
                            {"huge_pages", machine.huge_pages}};
}

void look_at_backends(const Options& options, Report& report) {
  std::string label = "Backends";
  std::string taken = options.backend;
  Json list = Json::array();
  for (const kernels::BackendEntry& backend : kernels::backends()) {
    const bool runs = backend.runs_here();
    if (runs && taken == "auto") taken = backend.name;
    const bool used = runs && taken == backend.name;
    std::string name(backend.name);
    name.resize(std::max<size_t>(name.size(), 10), ' ');
    report.row(label,
               name +
                   (used   ? "answers"
                    : runs ? "runs here"
                           : "not here") +
                   (backend.needs.empty() || runs ? "" : ": needs " + std::string(backend.needs)));
    label.clear();
    list.push_back(
        {{"name", backend.name}, {"needs", backend.needs}, {"runs", runs}, {"used", used}});
  }
  report.json["backends"] = list;
  const bool found = std::ranges::any_of(list, [](const Json& b) { return b["used"].get<bool>(); });
  if (!found) report.trouble.push_back("the backend " + taken + " does not run on this machine");
}

void look_at_models(const Options& options, const Paths& paths, const Machine& machine,
                    Report& report) {
  const Catalogue catalogue = Catalogue::read(paths.share / "models.json");
  const UserConfig config = read_user_config(paths.config_file());
  try {
    const ModelChoice choice = choose_model(options.model, catalogue, paths, config, machine);
    report.row("Model", choice.name + " answers: " + choice.why);
    if (!choice.note.empty()) report.row("", choice.note);
    const ModelFacts facts = model_facts(engine::GgufFile(choice.path.string()));
    if (!facts.problem.empty()) report.trouble.push_back(facts.problem);
    report.row("", "fill-in-the-middle: " + (facts.problem.empty() ? facts.fim_order : "unknown"));
    report.json["model"] = {{"name", choice.name},
                            {"path", choice.path.string()},
                            {"why", choice.why},
                            {"note", choice.note},
                            {"runs", facts.problem.empty()}};
  } catch (const std::exception& error) {
    report.trouble.push_back(error.what());
    report.json["model"] = nullptr;
  }
  Json others = Json::array();
  std::string label = "Others here";
  for (const Entry& entry : catalogue.entries()) {
    const LocalModel here = local_model(entry, paths);
    if (here.path.empty() || report.json["model"].is_null() ||
        entry.name == report.json["model"]["name"]) {
      continue;
    }
    const std::string slow = entry.built_in() ? "the last resort" : too_slow_here(entry, machine);
    const std::string why = !entry.runs ? "not run by this version" : slow;
    report.row(label, entry.name + (why.empty() ? "" : ": " + why));
    label.clear();
    others.push_back({{"name", entry.name}, {"why_not", why}});
  }
  report.json["others"] = others;
}

/// "private", "not there yet", or what is wrong with it.
std::string folder_state(const std::filesystem::path& path, std::string* trouble) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0) return "not there yet";
  if (S_ISLNK(info.st_mode)) return *trouble = short_path(path) + " is a symbolic link; remove it";
  if (info.st_uid != geteuid()) return *trouble = short_path(path) + " belongs to another user";
  if (access(path.c_str(), W_OK) != 0) return *trouble = short_path(path) + " cannot be written";
  return (info.st_mode & 077) == 0 ? "private" : "readable by others (mended by the next pull)";
}

void look_at_folders(const Paths& paths, Report& report) {
  std::string trouble;
  const std::string cache = folder_state(paths.cache, &trouble);
  report.row("Cache", short_path(paths.cache) + ": " + cache);
  const UserConfig config = read_user_config(paths.config_file());
  std::error_code error;
  const bool there = std::filesystem::exists(paths.config_file(), error);
  report.row("Settings", !config.problem.empty() ? config.problem
                                                 : short_path(paths.config_file()) +
                                                       (there ? "" : ": not there, defaults hold"));
  report.json["folders"] = {{"cache", paths.cache.string()},
                            {"cache_state", cache},
                            {"config", paths.config_file().string()},
                            {"config_there", there},
                            {"share", paths.share.string()}};
  if (!trouble.empty()) report.trouble.push_back(trouble);
}

/// Lines of at most 80 columns; what does not fit goes on below, indented as the text is.
void print_wrapped(const std::string& label, std::string text) {
  constexpr size_t kIndent = 13, kRoom = 80 - kIndent;
  std::string head = label;
  while (true) {
    head.resize(kIndent, ' ');
    size_t cut = text.size();
    if (cut > kRoom) {
      cut = text.rfind(' ', kRoom);
      if (cut == std::string::npos || cut == 0) cut = std::min(text.find(' '), text.size());
    }
    std::printf("%s%s\n", head.c_str(), text.substr(0, cut).c_str());
    if (cut >= text.size()) return;
    text.erase(0, cut + 1);
    head.clear();
  }
}

}  // namespace

int run_doctor(const Options& options, bool json) try {
  const Paths paths = Paths::from_environment();
  const Machine machine = Machine::look();
  Report report;
  look_at_machine(machine, options, report);
  look_at_backends(options, report);
  look_at_models(options, paths, machine, report);
  look_at_folders(paths, report);
  const bool ready = report.trouble.empty();
  report.json["ready"] = ready;
  report.json["trouble"] = report.trouble;
  if (json) {
    std::printf("%s\n", report.json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return ready ? 0 : 1;
  }
  for (const Row& row : report.rows) print_wrapped(row.label, row.text);
  for (const std::string& trouble : report.trouble) print_wrapped("Trouble", trouble);
  std::printf("\n%s\n",
              ready ? "Ready to complete." : "No completion can be made before that is mended.");
  return ready ? 0 : 1;
} catch (const std::exception& error) {
  foretoken::lsp::report(error.what());
  return 1;
}

CLI::App* add_doctor_command(CLI::App& app, const Options& options, int& exit_status) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* doctor =
      app.add_subcommand("doctor", "What this machine can do, and which model answers");
  doctor->add_flag("--json", *json, "Print JSON");
  doctor->callback([=, &options, &exit_status] { exit_status = run_doctor(options, *json); });
  return doctor;
}

}  // namespace foretoken::lsp

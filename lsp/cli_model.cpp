#include "lsp/cli_model.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/gguf.h"
#include "lsp/interrupt.h"
#include "lsp/model_choice.h"
#include "lsp/model_facts.h"
#include "lsp/private_folder.h"
#include "lsp/progress.h"
#include "lsp/pull.h"
#include "lsp/sha256.h"
#include "lsp/standard_streams.h"

namespace foretoken::lsp {
namespace {

using Json = nlohmann::ordered_json;

/// What every one of these commands looks at first.
struct Setting {
  Paths paths = Paths::from_environment();
  Catalogue catalogue = Catalogue::read(paths.share / "models.json");
  UserConfig config = read_user_config(paths.config_file());
};

int failed(const std::exception& error) {
  report(error.what());
  return 1;
}

const char* state_name(ModelState state) {
  switch (state) {
    case ModelState::available:
      return "available";
    case ModelState::partial:
      return "partial";
    case ModelState::unverified:
      return "pulled, unverified";
    case ModelState::verified:
      return "pulled, verified";
    case ModelState::changed:
      return "changed";
    case ModelState::built_in:
      return "built in";
  }
  return "";
}

std::string state_text(const Entry& entry, const LocalModel& here) {
  if (here.state == ModelState::partial) {
    return "partly pulled, " + std::to_string(100 * here.bytes / entry.bytes) + "%";
  }
  if (here.state == ModelState::changed) return "changed since it was pulled";
  const std::string text = state_name(here.state);
  return entry.runs ? text : text + ", not run yet";
}

Json list_row(const Entry& entry, const LocalModel& here, bool current) {
  return {{"name", entry.name},
          {"title", entry.title},
          {"licence", entry.licence},
          {"bytes", here.path.empty() ? entry.bytes : here.bytes},
          {"fim", entry.fim},
          {"state", state_name(here.state)},
          {"sha256", entry.sha256.empty() ? Json(nullptr) : Json(entry.sha256)},
          {"path", here.path.empty() ? Json(nullptr) : Json(here.path.string())},
          {"runs", entry.runs},
          {"current", current}};
}

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string parameters_text(uint64_t parameters) {
  char text[32];
  std::snprintf(text, sizeof text, parameters >= 1000000000 ? "%.2f billion" : "%.1f million",
                double(parameters) / (parameters >= 1000000000 ? 1e9 : 1e6));
  return text;
}

Json info_json(const ModelChoice& choice, const engine::GgufFile& file, const ModelFacts& facts,
               const Json& state, const Json& sha256) {
  Json stops = Json::array();
  for (const auto& [id, text] : facts.stops) stops.push_back({{"id", id}, {"text", text}});
  Json json{{"name", choice.name},
            {"path", choice.path.string()},
            {"bytes", file.file_bytes()},
            {"state", state},
            {"sha256", sha256},
            {"title", facts.title},
            {"licence", facts.licence.empty() ? Json() : Json(facts.licence)},
            {"architecture", facts.architecture},
            {"parameters", facts.parameters},
            {"layers", facts.layers},
            {"width", facts.width},
            {"heads", facts.heads},
            {"kv_heads", facts.kv_heads},
            {"feed_forward", facts.feed_forward},
            {"vocabulary", facts.vocabulary},
            {"context", facts.context},
            {"weights", facts.weights},
            {"bits_per_weight", facts.bits_per_weight},
            {"split_rules", facts.split_rules},
            {"fim",
             {{"family", facts.fim_family},
              {"order", facts.fim_order},
              {"found_by", facts.fim_found_by},
              {"stops", stops}}},
            {"runs", facts.problem.empty()}};
  if (!facts.problem.empty()) json["problem"] = facts.problem;
  return json;
}

void print_row(const char* label, const std::string& text) {
  std::printf("  %-13s %s\n", label, text.c_str());
}

void print_info(const ModelChoice& choice, const engine::GgufFile& file, const ModelFacts& facts,
                const std::string& state, const std::string& sha256) {
  std::printf("%s%s%s\n", choice.name.c_str(), facts.title.empty() ? "" : ": ",
              facts.title.c_str());
  print_row("file", engine::printable(short_path(choice.path), 400));
  print_row("size", human_bytes(file.file_bytes()) + (state.empty() ? "" : ", " + state));
  if (!sha256.empty()) print_row("sha256", sha256);
  print_row("licence", facts.licence.empty() ? "not stated in the file" : facts.licence);
  print_row("architecture", facts.architecture);
  print_row("parameters", parameters_text(facts.parameters));
  if (facts.layers > 0) {
    print_row("shape", std::to_string(facts.layers) + " layers, width " +
                           std::to_string(facts.width) + ", " + std::to_string(facts.heads) +
                           " heads, " + std::to_string(facts.kv_heads) +
                           " key-value, feed-forward " + std::to_string(facts.feed_forward));
    print_row("context", grouped(uint64_t(facts.context)) + " tokens");
  }
  std::string mix;
  for (const auto& [type, count] : facts.weights) {
    mix += (mix.empty() ? "" : ", ") + type + " x" + std::to_string(count);
  }
  char bits[48];
  std::snprintf(bits, sizeof bits, " (%.2f bits a weight)", facts.bits_per_weight);
  print_row("weights", mix + bits);
  if (!facts.split_rules.empty()) {
    print_row("tokenizer",
              grouped(uint64_t(facts.vocabulary)) + " tokens, split rules " + facts.split_rules);
    const bool fills = facts.fim_found_by != "none" && facts.fim_family != "none";
    print_row("FIM", fills ? facts.fim_family + ": " + facts.fim_order + " (found by " +
                                 facts.fim_found_by + ")"
                           : facts.fim_order);
    std::string stops;
    for (const auto& [id, text] : facts.stops) stops += (stops.empty() ? "" : " ") + text;
    print_row("stop tokens", stops);
  }
  if (!facts.problem.empty()) print_row("cannot run", facts.problem);
}

ModelChoice wanted_or_current(const Options& options, const std::string& wanted,
                              const Setting& setting) {
  if (!wanted.empty()) return named_model(wanted, setting.catalogue, setting.paths);
  return choose_model(options.model, setting.catalogue, setting.paths, setting.config,
                      Machine::look());
}

/// The catalogue's entry whose file was chosen; null for any other file.
const Entry* entry_of(const ModelChoice& choice, const Setting& setting) {
  const Entry* entry = setting.catalogue.find(choice.name);
  return entry && local_model(*entry, setting.paths).path == choice.path ? entry : nullptr;
}

}  // namespace

int run_model_list(const Options& options, bool json) try {
  const Setting setting;
  std::string current;
  try {
    current = wanted_or_current(options, "", setting).name;
  } catch (const std::exception&) {  // then none is current
  }
  Json rows = Json::array();
  if (!json) std::printf("  %-22s%7s %-31s%s\n", "NAME", "SIZE", "LICENCE", "STATE");
  for (const Entry& entry : setting.catalogue.entries()) {
    const LocalModel here = local_model(entry, setting.paths);
    if (json) {
      rows.push_back(list_row(entry, here, entry.name == current));
      continue;
    }
    std::printf("%c %-22s%7s %-31s%s\n", entry.name == current ? '*' : ' ', entry.name.c_str(),
                human_bytes(here.path.empty() ? entry.bytes : here.bytes).c_str(),
                entry.licence.c_str(), state_text(entry, here).c_str());
  }
  if (json) {
    std::printf("%s\n", rows.dump(2).c_str());
  } else {
    std::printf("\n* answers now. Models lie in %s.\n", short_path(setting.paths.models()).c_str());
  }
  return 0;
} catch (const std::exception& error) {
  return failed(error);
}

int run_model_pull(const std::string& name, bool again) {
  std::string resume = "foretoken model pull";
  try {
    const Setting setting;
    const Entry* entry =
        name.empty() ? &setting.catalogue.standard() : setting.catalogue.find(name);
    if (!entry) {
      throw std::runtime_error("there is no model \"" + engine::printable(name) +
                               "\" in the catalogue" + setting.catalogue.suggestion(name));
    }
    resume += " " + entry->name;
    PullSettings settings;
    settings.hub = setting.config.hub;
    settings.again = again;
    if (const char* roots = std::getenv("SSL_CERT_FILE")) settings.certificates = roots;
    Progress progress(stderr, isatty(STDERR_FILENO) != 0);
    if (!entry->runs) {
      progress.say("this version of Foretoken does not run " + entry->name +
                   " yet; pulling it all the same");
    }
    const InterruptWatch watch;
    signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error to report, not an end
    const Pulled pulled = pull(*entry, setting.catalogue, setting.paths, settings, progress,
                               InterruptWatch::seen);
    std::fprintf(
        stderr, "%s is %s: %s%s\n", entry->name.c_str(), pulled.was_here ? "here already" : "here",
        short_path(pulled.path).c_str(),
        entry->sha256.empty() ? " (no published hash to check it against: unverified)" : "");
    return 0;
  } catch (const PullInterrupted&) {
    std::fprintf(stderr, "foretoken: interrupted; what came is kept, go on with: %s\n",
                 resume.c_str());
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);  // so that a calling script stops too
    return 1;
  } catch (const std::exception& error) {
    return failed(error);
  }
}

int run_model_info(const Options& options, const std::string& wanted, bool json) try {
  const Setting setting;
  const ModelChoice choice = wanted_or_current(options, wanted, setting);
  const engine::GgufFile file(choice.path.string());
  ModelFacts facts = model_facts(file);
  std::string state, sha256;
  if (const Entry* entry = entry_of(choice, setting)) {
    state = state_name(local_model(*entry, setting.paths).state);
    sha256 = entry->sha256;
    facts.licence = entry->licence;
  }
  if (json) {
    const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
    const Json all = info_json(choice, file, facts, or_null(state), or_null(sha256));
    std::printf("%s\n", all.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    print_info(choice, file, facts, state, sha256);
  }
  return 0;
} catch (const std::exception& error) {
  return failed(error);
}

int run_model_check(const Options& options, const std::string& wanted) try {
  const Setting setting;
  const ModelChoice choice = wanted_or_current(options, wanted, setting);
  const engine::GgufFile file(choice.path.string());
  const ModelFacts facts = model_facts(file);
  if (!facts.problem.empty()) throw std::runtime_error(facts.problem);
  const Entry* entry = entry_of(choice, setting);
  const bool pinned = entry && !entry->sha256.empty();
  if (pinned &&
      Sha256::of_file(Fd(open(choice.path.c_str(), O_RDONLY | O_CLOEXEC)).get()) != entry->sha256) {
    throw std::runtime_error(short_path(choice.path) +
                             " is not what was published (its SHA-256 differs); bring it again: "
                             "foretoken model pull --again " +
                             entry->name);
  }
  std::printf("ok: %s (%s, %s%s)\n", choice.name.c_str(), facts.architecture.c_str(),
              facts.fim_order.c_str(), pinned ? ", SHA-256 as published" : "");
  return 0;
} catch (const std::exception& error) {
  return failed(error);
}

CLI::App* add_model_command(CLI::App& app, const Options& options, int& exit_status) {
  struct Arguments {
    std::string name;
    bool json = false, again = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* model = app.add_subcommand("model", "Models: list, pull, look into, check");
  model->require_subcommand(1);

  CLI::App* list = model->add_subcommand("list", "Models that can be had, and which are here");
  list->add_flag("--json", arguments->json, "Print JSON");
  list->callback(
      [=, &options, &exit_status] { exit_status = run_model_list(options, arguments->json); });

  CLI::App* pull = model->add_subcommand("pull", "Bring a model onto this machine");
  pull->add_option("NAME", arguments->name, "A name of the list; without it the default model");
  pull->add_flag("--again", arguments->again, "Pull it even though it is here");
  pull->callback(
      [=, &exit_status] { exit_status = run_model_pull(arguments->name, arguments->again); });

  CLI::App* info = model->add_subcommand("info", "What a model is made of");
  info->add_option("MODEL", arguments->name, "File or name; without it the model that answers now");
  info->add_flag("--json", arguments->json, "Print JSON");
  info->callback([=, &options, &exit_status] {
    exit_status = run_model_info(options, arguments->name, arguments->json);
  });

  CLI::App* check = model->add_subcommand("check", "Whether a model file is sound and can be run");
  check->add_option("MODEL", arguments->name,
                    "File or name; without it the model that answers now");
  check->callback(
      [=, &options, &exit_status] { exit_status = run_model_check(options, arguments->name); });
  return model;
}

}  // namespace foretoken::lsp

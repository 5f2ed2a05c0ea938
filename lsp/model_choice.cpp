#include "lsp/model_choice.h"

#include <algorithm>
#include <stdexcept>

#include "engine/error.h"
#include "lsp/pull.h"

namespace foretoken::lsp {
namespace {
namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool usable(const LocalModel& model) {
  return model.state == ModelState::verified || model.state == ModelState::unverified ||
         model.state == ModelState::built_in;
}

std::string stem(const fs::path& path) {
  const std::string name = path.filename().string();
  return engine::printable(name.ends_with(".gguf") ? name.substr(0, name.size() - 5) : name);
}

std::string pull_command(const Entry& entry) {
  return "foretoken model pull " + entry.name;
}

}  // namespace

std::string too_slow_here(const Entry& entry, const Machine& machine) {
  // Peak of loading: the file, its repacked copy's slack, keys and values.
  const uint64_t memory = entry.bytes + entry.bytes / 5 + (250u << 20);
  if (machine.memory_total != 0 && memory > machine.memory_total) {
    return "needs " + human_bytes(memory) + " of memory";
  }
  // A token reads the whole file once and a prompt token costs two operations a weight; both grow
  // with the processors. 300 MB each keeps a line under about a second on present ones.
  if (entry.bytes > uint64_t(machine.processors) * 300000000) {
    return "too slow on " + std::to_string(machine.processors) +
           (machine.processors == 1 ? " processor" : " processors");
  }
  return "";
}

ModelChoice named_model(const std::string& wanted, const Catalogue& catalogue, const Paths& paths) {
  const Entry* entry = catalogue.find(wanted);
  if (entry) {
    const LocalModel here = local_model(*entry, paths);
    if (usable(here)) return {here.path, entry->name, "", ""};
    if (here.state == ModelState::changed) {
      throw std::runtime_error("the file of " + entry->name + " was changed since it was pulled: " +
                               pull_command(*entry) + " brings it again, --model " +
                               short_path(here.path) + " uses it as it is");
    }
    throw std::runtime_error("the model " + entry->name +
                             " is not on this machine yet: " + pull_command(*entry));
  }
  if (is_file(wanted)) return {wanted, stem(wanted), "", ""};
  const bool bare = wanted.find('/') == std::string::npos && !wanted.starts_with('.');
  if (bare) {
    for (const std::string& name : {wanted, wanted + ".gguf"}) {
      const fs::path path = paths.models() / name;
      if (name.ends_with(".gguf") && is_file(path)) return {path, stem(path), "", ""};
    }
  }
  const std::string shown = engine::printable(wanted, 200);
  if (!bare || wanted.ends_with(".gguf")) {
    throw std::runtime_error("there is no model file " + shown);
  }
  throw std::runtime_error("there is no model \"" + shown + "\"" + catalogue.suggestion(wanted));
}

ModelChoice choose_model(const std::string& wanted, const Catalogue& catalogue, const Paths& paths,
                         const UserConfig& config, const Machine& machine) {
  if (!wanted.empty()) {
    ModelChoice choice = named_model(wanted, catalogue, paths);
    choice.why = "asked for with --model";
    return choice;
  }
  std::string note = config.problem;
  if (!config.model.empty()) {
    try {
      ModelChoice choice = named_model(config.model, catalogue, paths);
      choice.why = "set in " + short_path(paths.config_file());
      return choice;
    } catch (const std::exception& error) {
      note = short_path(paths.config_file()) + ": " + error.what();
    }
  }
  for (const Entry& entry : catalogue.entries()) {
    if (entry.built_in() || !entry.runs || !too_slow_here(entry, machine).empty()) continue;
    const LocalModel here = local_model(entry, paths);
    if (!usable(here)) continue;
    if (!note.empty()) note += "; " + entry.name + " answers";
    return {here.path, entry.name, "the best of those pulled", note};
  }
  const auto pocket = std::ranges::find_if(catalogue.entries(), &Entry::built_in);
  if (pocket == catalogue.entries().end()) {
    throw std::runtime_error("no model is on this machine: " + pull_command(catalogue.standard()));
  }
  const std::string better =
      "the small built-in model answers; a better one: " + pull_command(catalogue.standard());
  return {paths.share / pocket->file_name(), pocket->name, "no other model is on this machine",
          note.empty() ? better : note + "; " + better};
}

ModelChoice choose_model(const Options& options) {
  const Paths paths = Paths::from_environment();
  return choose_model(options.model, Catalogue::read(paths.share / "models.json"), paths,
                      read_user_config(paths.config_file()), Machine::look());
}

}  // namespace foretoken::lsp

#include "lsp/cli_status.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "lsp/loop.h"
#include "lsp/paths.h"
#include "lsp/share_connection.h"
#include "lsp/share_place.h"
#include "lsp/share_status.h"
#include "lsp/standard_streams.h"

namespace foretoken::lsp {
namespace {

/// For an owner to say how it is; it may be busy, but its loop is not what computes.
constexpr std::chrono::seconds kPatience{3};

/// What came of asking one owner.
struct Told {
  std::string status;  // JSON; "" where it does not say
  std::string why;     // then
};

Told ask(Fd socket) {
  const auto loop = make_loop();
  Told told{.status = "", .why = "it does not answer"};
  std::optional<share::Hello> owner;
  ShareConnection* asking = nullptr;
  ShareConnection connection(
      std::move(socket), loop,
      {[&](const share::Message& message) {
         if (const auto* hello = std::get_if<share::Hello>(&message)) {
           owner = *hello;
           if (hello->version == FORETOKEN_VERSION) return asking->send(share::AskStatus{1});
           told.why = "process " + std::to_string(hello->pid) + " is version " + hello->version +
                      ", this is " FORETOKEN_VERSION;
         } else if (const auto* status = std::get_if<share::Status>(&message)) {
           told.status = status->json;
         } else {
           return;  // Ready
         }
         loop->stop();
       },
       [&](const std::string& fault) {
         if (!fault.empty()) told.why = fault;
         loop->stop();
       }});
  asking = &connection;
  loop->after(kPatience, [&] { loop->stop(); });
  connection.send(share::Hello{share::kProtocol, FORETOKEN_VERSION, ::getpid(), share::kStatusName});
  loop->run();
  return told;
}

}  // namespace

int run_status(const StatusArguments& arguments) {
  const std::filesystem::path folder = Paths::from_environment().runtime;
  std::vector<std::string> statuses;
  std::string text;
  bool silent = false;  // an engine is there and does not tell
  try {
    for (const std::string& key : SharePlace::keys(folder)) {
      Fd socket = SharePlace(folder, key, ::geteuid()).connect();
      if (!socket) continue;  // its owner has ended
      Told told = ask(std::move(socket));
      const std::string shown = status_text(told.status);
      if (shown.empty()) {
        report("an engine (" + key + ") does not tell its status: " + told.why);
        silent = true;
        continue;
      }
      text += (text.empty() ? "" : "\n") + shown;
      statuses.push_back(std::move(told.status));
    }
  } catch (const std::exception& error) {
    report(error.what());
    return 1;
  }
  if (arguments.metrics_json) {
    std::cout << histograms_json(statuses) << "\n";
  } else if (arguments.json) {
    std::cout << statuses_json(statuses) << "\n";
  } else if (text.empty() && !silent) {
    std::cout << "No engine is running: the first `foretoken lsp` starts one.\n";
  } else {
    std::cout << text;
  }
  return silent ? 1 : 0;
}

CLI::App* add_status_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand("status", "running engines: who uses them, what answers cost");
  const auto arguments = std::make_shared<StatusArguments>();
  auto* json = command->add_flag("--json", arguments->json, "everything, as a JSON array");
  command->add_flag("--metrics-json", arguments->metrics_json, "the histograms, as one JSON object")
      ->excludes(json);
  command->callback([arguments, &exit_status] { exit_status = run_status(*arguments); });
  return command;
}

}  // namespace foretoken::lsp

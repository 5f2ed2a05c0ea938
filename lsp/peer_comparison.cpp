#include "lsp/peer_comparison.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>

#include "lsp/keystroke_report.h"
#include "lsp/peer_server.h"
#include "lsp/percentiles.h"

namespace foretoken::lsp {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

constexpr int kTokens = 16;
constexpr size_t kKeysPerPlace = 16;
constexpr std::chrono::milliseconds kLook{50}, kRestPatience{5000};
constexpr double kAtRest = 0.1, kQuiet = 0.1;  // of one processor

double ms(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

double own_cpu_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) { return double(t.tv_sec) * 1e3 + double(t.tv_usec) / 1e3; };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

/// Processor time that the machine has spent on anything, all processors together; 0: not told here.
double machine_cpu_ms() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0;
  stat >> cpu >> user >> nice >> system;
  return stat ? (user + nice + system) * 1000 / double(::sysconf(_SC_CLK_TCK)) : 0;
}

/// One key on one side.
struct Measured {
  double ttft_ms = 0, total_ms = 0;
  int new_tokens = 0, reused_tokens = 0, output_tokens = 0;
  bool full = false;        // the number of tokens that was asked for, from the model
  bool line_right = false;  // the line as it stands in the file
  double others_cpu_ms = 0; // processor time that everything else on the machine took meanwhile
};

/// Someone who answers keys. Front thread.
struct Side {
  std::string title;
  std::vector<std::string> flags;
  std::unique_ptr<PeerServer> server;  // null: this engine
  std::vector<Measured> counted;
  double cpu_ms() const { return server ? server->cpu_ms() : own_cpu_ms(); }
};

bool is_line(std::string_view line, std::string_view typed, std::string_view answer) {
  return line.starts_with(typed) &&
         line.substr(typed.size()) == answer.substr(0, std::min(answer.find('\n'), answer.size()));
}

Measured ask_here(Completer& completer, const PeerPlace& place, size_t typed, int64_t version) {
  const std::string left = place.before + place.line.substr(0, typed);
  CompletionQuery query;
  query.document = std::make_shared<Snapshot>("file:///" + place.path, "", version, left + place.after);
  query.cursor = left.size();
  query.path = place.path;
  query.mode = engine::Mode::block;
  query.max_tokens = kTokens;
  query.from_engine = true;
  std::promise<std::pair<CompletionAnswer, Clock::time_point>> answered;
  const auto start = Clock::now();
  completer.start(std::move(query), [&](CompletionAnswer answer) {
    answered.set_value({std::move(answer), Clock::now()});
  });
  const auto [answer, came] = answered.get_future().get();
  if (!answer.error.empty()) throw std::runtime_error(answer.error);
  Measured out;
  out.total_ms = ms(came - start);
  out.ttft_ms = out.total_ms - (answer.timings.total_ms - answer.timings.ttft_ms);
  out.new_tokens = answer.timings.new_tokens;
  out.reused_tokens = answer.timings.reused_tokens;
  out.output_tokens = answer.timings.output_tokens;
  out.full = answer.source == engine::Source::engine && answer.finish == engine::Finish::length &&
             out.output_tokens >= kTokens && answer.timings.ttft_ms > 0;
  const size_t replaced = left.size() - answer.start;
  if (replaced <= typed) {
    out.line_right = is_line(place.line, std::string_view(place.line).substr(0, typed - replaced), answer.text);
  }
  return out;
}

Measured ask_peer(PeerServer& server, const PeerPlace& place, size_t typed) {
  const std::string_view line = std::string_view(place.line).substr(0, typed);
  const PeerAnswer answer = server.infill({place.before, line, place.after, kTokens});
  Measured out;
  out.ttft_ms = answer.ttft_ms;
  out.total_ms = answer.total_ms;
  out.new_tokens = answer.new_tokens;
  out.reused_tokens = answer.reused_tokens;
  out.output_tokens = answer.output_tokens;
  out.full = answer.output_tokens == kTokens && answer.ttft_ms > 0;
  out.line_right = is_line(place.line, line, answer.text);
  return out;
}

double cpu_of(const std::vector<Side>& sides) {
  double sum = 0;
  for (const Side& side : sides) sum += side.cpu_ms();
  return sum;
}

/// What a side does after it has answered must not be paid by the next one.
void wait_for_rest(const std::vector<Side>& sides) {
  const auto until = Clock::now() + kRestPatience;
  for (double before = cpu_of(sides); Clock::now() < until;) {
    std::this_thread::sleep_for(kLook);
    const double now = cpu_of(sides);
    if (now - before < kAtRest * double(kLook.count())) return;
    before = now;
  }
}

ordered_json side_json(const Side& side) {
  const auto of = [&](auto member) {
    std::vector<double> values;
    for (const Measured& m : side.counted) values.push_back(double(m.*member));
    return percentiles_json(percentiles(std::move(values)));
  };
  int right = 0;
  for (const Measured& m : side.counted) right += m.line_right;
  return {{"name", side.title},
          {"flags", side.flags},
          {"ttft_ms", of(&Measured::ttft_ms)},
          {"total_ms", of(&Measured::total_ms)},
          {"new_tokens", of(&Measured::new_tokens)},
          {"reused_tokens", of(&Measured::reused_tokens)},
          {"output_tokens", of(&Measured::output_tokens)},
          {"lines_right", right},
          {"others_cpu_ms", of(&Measured::others_cpu_ms)}};
}

std::vector<Side> start_sides(const PeerComparisonSetup& setup, const std::function<bool()>& interrupted) {
  // The batch takes the whole suffix (the server cuts it to a quarter of a batch) and the microbatch
  // what a keystroke costs, as the server's own settings for this use have it.
  const std::vector<std::string> common = {
      setup.binary, "-m", setup.model_file, "-t", std::to_string(setup.threads), "-c", "4096",
      "-np", "1", "-b", "2560", "-ub", "1024", "--offline", "--no-ui"};
  std::vector<Side> sides;
  sides.push_back({"foretoken", {}, nullptr, {}});
  for (const std::vector<std::string>& own :
       std::vector<std::vector<std::string>>{{}, {"--cache-reuse", "256"}, {"--spm-infill"}}) {
    std::vector<std::string> command = common;
    command.insert(command.end(), own.begin(), own.end());
    std::string title = "llama-server";
    for (const std::string& flag : own) title += " " + flag;
    std::vector<std::string> flags(command.begin() + 3, command.end());
    sides.push_back({title, std::move(flags), std::make_unique<PeerServer>(command, interrupted), {}});
  }
  return sides;
}

}  // namespace

ordered_json compare_with_peer(Completer& completer, const std::vector<PeerPlace>& places,
                               const PeerComparisonSetup& setup,
                               const std::function<bool()>& interrupted) {
  std::vector<Side> sides = start_sides(setup, interrupted);
  int asked = 0, counted = 0, used_places = 0;
  int64_t version = 0;
  const auto ask = [&](Side& side, const PeerPlace& place, size_t typed) {
    if (interrupted()) throw std::runtime_error("interrupted");
    wait_for_rest(sides);
    const double own = side.cpu_ms(), all = machine_cpu_ms();
    Measured measured = side.server ? ask_peer(*side.server, place, typed)
                                    : ask_here(completer, place, typed, ++version);
    measured.others_cpu_ms = std::max(0.0, (machine_cpu_ms() - all) - (side.cpu_ms() - own));
    return measured;
  };
  for (const PeerPlace& place : places) {
    if (counted >= setup.keys) break;
    ++used_places;
    for (Side& side : sides) ask(side, place, place.typed_from);  // cold: fills the caches
    const size_t last = std::min(place.line.size() - 1, place.typed_from + kKeysPerPlace);
    for (size_t typed = place.typed_from + 1; typed <= last && counted < setup.keys; ++typed) {
      std::vector<Measured> row(sides.size());
      for (size_t i = 0; i < sides.size(); ++i) {  // another one begins every time
        const size_t at = (i + typed) % sides.size();
        row[at] = ask(sides[at], place, typed);
      }
      ++asked;
      if (!std::ranges::all_of(row, &Measured::full)) continue;
      ++counted;
      for (size_t i = 0; i < sides.size(); ++i) sides[i].counted.push_back(row[i]);
    }
  }
  if (counted == 0) throw std::runtime_error("no key of these files counts: give others");

  ordered_json out = {{"binary", setup.version},
                      {"output_tokens", kTokens},
                      {"places", used_places},
                      {"keys_asked", asked},
                      {"keys_counted", counted},
                      {"sides", ordered_json::array()}};
  const auto half = [](const Side& side, double Measured::*member) {
    std::vector<double> values;
    for (const Measured& m : side.counted) values.push_back(m.*member);
    return percentiles(std::move(values)).p50;
  };
  for (const Side& side : sides) {
    ordered_json json = side_json(side);
    json["ttft_times_ours"] = half(side, &Measured::ttft_ms) / half(sides[0], &Measured::ttft_ms);
    json["total_times_ours"] = half(side, &Measured::total_ms) / half(sides[0], &Measured::total_ms);
    out["sides"].push_back(std::move(json));
  }
  return out;
}

std::string peer_table(const ordered_json& comparison) {
  char line[240];
  std::snprintf(line, sizeof line, "warm keystroke, %d tokens out, medians of %d keys in %d places\n",
                comparison.at("output_tokens").get<int>(), comparison.at("keys_counted").get<int>(),
                comparison.at("places").get<int>());
  std::string out = line;
  bool busy = false;
  out += "                                  ttft ms  x ours   total ms  x ours  new  reused  lines right\n";
  for (const ordered_json& side : comparison.at("sides")) {
    const auto p50 = [&](const char* name) { return side.at(name).at("p50").get<double>(); };
    std::snprintf(line, sizeof line, "%-32s %8.1f %7.1f %10.1f %7.1f %4.0f %7.0f %12d\n",
                  side.at("name").get<std::string>().c_str(), p50("ttft_ms"),
                  side.at("ttft_times_ours").get<double>(), p50("total_ms"),
                  side.at("total_times_ours").get<double>(), p50("new_tokens"), p50("reused_tokens"),
                  side.at("lines_right").get<int>());
    out += line;
    busy |= p50("others_cpu_ms") > kQuiet * p50("total_ms");
  }
  if (busy) out += "the machine was not quiet meanwhile: others took more than a tenth of a processor\n";
  return out + "beside " + comparison.at("binary").get<std::string>() + "\n";
}

}  // namespace foretoken::lsp

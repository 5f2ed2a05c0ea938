#include "lsp/cli_bench.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/peaks.h"
#include "lsp/engine_loader.h"
#include "lsp/machine.h"
#include "lsp/memory.h"
#include "lsp/model_choice.h"
#include "lsp/standard_streams.h"

namespace foretoken::lsp {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// Any ids do: the arithmetic does not depend on them. Fixed, so that runs compare.
std::vector<engine::TokenId> some_ids(int count, int vocabulary) {
  std::vector<engine::TokenId> ids;
  uint64_t state = 1;
  for (int i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ids.push_back(static_cast<engine::TokenId>((state >> 33) % uint64_t(vocabulary)));
  }
  return ids;
}

struct Round {
  double prefill_s, decode_s;
};

Round measure(engine::Runtime& runtime, const std::vector<engine::TokenId>& prompt, int output) {
  auto sequence = runtime.tree().acquire(prompt, 0, /*reuse=*/false);
  const auto start = Clock::now();
  auto trouble = runtime.prefill(sequence, prompt, {});
  kernels::Selection next = runtime.select({}, {}, 1);
  const auto prefilled = Clock::now();
  for (int i = 0; i < output && !trouble; ++i) {
    trouble = runtime.prefill(sequence, next.ids, {});
    next = runtime.select({}, {}, 1);
    if (next.ids.empty()) throw std::runtime_error("the model gave numbers that are not finite");
  }
  const auto decoded = Clock::now();
  runtime.tree().release(std::move(sequence));
  if (trouble) throw std::runtime_error("prompt and output do not fit the model's context or KV budget");
  return {seconds(prefilled - start), seconds(decoded - prefilled)};
}

}  // namespace

void add_bench_model_flags(CLI::App& command, BenchModelArguments& arguments) {
  command.add_option("--prompt-tokens", arguments.prompt_tokens, "tokens to prefill (default 512)")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--output-tokens", arguments.output_tokens, "tokens to decode behind them (default 64)")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--rounds", arguments.rounds, "rounds, of which the median counts (default 5)")
      ->check(CLI::Range(1, 1000));
  command.add_flag("--json", arguments.json, "print one JSON object");
}

int run_bench_model(const BenchModelArguments& arguments, const Options& options) {
  try {
    Options wide = options;
    wide.window_tokens = std::max(options.window_tokens, arguments.prompt_tokens + arguments.output_tokens);
    const auto start = Clock::now();
    const auto runtime = load_runtime(announced_model(options), wide);
    const double load_s = seconds(Clock::now() - start);
    const auto prompt = some_ids(arguments.prompt_tokens, runtime->tokenizer().size());

    measure(*runtime, some_ids(16, runtime->tokenizer().size()), 1);  // pages touched, threads awake
    std::vector<double> prefill, decode;
    for (int i = 0; i < arguments.rounds; ++i) {
      const Round round = measure(*runtime, prompt, arguments.output_tokens);
      prefill.push_back(arguments.prompt_tokens / round.prefill_s);
      decode.push_back(arguments.output_tokens / round.decode_s);
    }
    const engine::ModelConfig& c = runtime->model().config;
    // A decoded token reads every weight once, and the keys and values of what stands before it.
    const double kv_per_token = double(runtime->kv_bytes_per_token());
    const double bytes = double(runtime->model().bytes_per_token()) +
                         kv_per_token * (arguments.prompt_tokens + arguments.output_tokens / 2.0);
    const uint64_t peak_resident = peak_resident_bytes();  // before the probes take memory of their own
    const int threads = runtime->backend().threads();
    const double memory_peak = measured_read_bandwidth(threads);
    const kernels::ArithmeticPeak arithmetic = kernels::measure_int8_peak(threads);
    const double memory_share = bytes * median(decode) / memory_peak;
    const double macs = double(runtime->model().macs_per_token());
    const nlohmann::ordered_json out = {
        {"model", runtime->name()},
        {"architecture", c.architecture},
        {"backend", runtime->backend().name()},
        {"threads", runtime->backend().threads()},
        {"prompt_tokens", arguments.prompt_tokens},
        {"output_tokens", arguments.output_tokens},
        {"rounds", arguments.rounds},
        {"prefill_tokens_per_s", median(prefill)},
        {"decode_tokens_per_s", median(decode)},
        {"load_s", load_s},
        {"weight_bytes", runtime->model().weight_bytes()},
        {"kv_bytes", runtime->kv_bytes()},
        {"peak_resident_bytes", peak_resident},
        {"bytes_per_decoded_token", bytes},
        {"decode_bytes_per_s", bytes * median(decode)},
        {"memory_peak_bytes_per_s", memory_peak},
        {"decode_share_of_memory_peak", memory_share},
        {"prefill_macs_per_s", macs * median(prefill)},
        {"arithmetic_peak_macs_per_s", arithmetic.macs_per_s},
        {"arithmetic_peak_instructions", arithmetic.instructions},
        {"prefill_share_of_arithmetic_peak", macs * median(prefill) / arithmetic.macs_per_s}};
    if (arguments.json) {
      std::cout << out.dump() << "\n";
      return 0;
    }
    const auto percent = [](double share) { return std::to_string(int(share * 100 + 0.5)) + " %"; };
    std::cout << runtime->name() << " on " << runtime->backend().name() << ", "
              << runtime->backend().threads() << " threads, median of " << arguments.rounds << "\n"
              << "  prefill " << int(median(prefill) + 0.5) << " tokens/s, "
              << percent(macs * median(prefill) / arithmetic.macs_per_s)
              << " of the measured arithmetic peak\n"
              << "  decode  " << int(median(decode) * 10 + 0.5) / 10.0 << " tokens/s, "
              << int(bytes / 1e6) << " MB per token, "
              << percent(memory_share)
              << " of the measured memory peak\n"
              << "  loaded in " << int(load_s * 1000) << " ms, "
              << peak_resident / 1000000 << " MB resident at most\n";
    return 0;
  } catch (const std::exception& failure) {
    report(failure.what());
    return 1;
  }
}

}  // namespace foretoken::lsp

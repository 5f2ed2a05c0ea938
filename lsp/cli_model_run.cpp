#include "lsp/cli_model_run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "engine/gguf.h"
#include "lsp/engine_loader.h"
#include "lsp/model_choice.h"
#include "lsp/standard_streams.h"

namespace foretoken::lsp {
namespace {

using engine::TokenId;
using nlohmann::json;

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TokenId checked_id(int64_t id, int size) {
  if (id < 0 || id >= size) {
    throw Failed("token id " + std::to_string(id) + " is outside 0.." + std::to_string(size - 1));
  }
  return static_cast<TokenId>(id);
}

/// Ids separated by commas or blanks, brackets allowed around them.
std::vector<TokenId> parse_ids(std::string_view text, int size) {
  std::vector<TokenId> ids;
  constexpr std::string_view kSeparators = " ,\t\r\n[]";
  while (true) {
    const size_t start = text.find_first_not_of(kSeparators);
    if (start == std::string_view::npos) return ids;
    text.remove_prefix(start);
    int64_t id = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), id);
    const size_t length = size_t(end - text.data());
    if (fault != std::errc() ||
        (length < text.size() && kSeparators.find(text[length]) == std::string_view::npos)) {
      throw Failed("--ids: expected numbers separated by commas, got \"" +
                   engine::printable(text, 20) + "\"");
    }
    ids.push_back(checked_id(id, size));
    text.remove_prefix(length);
  }
}

/// A JSON string of a token text; bytes that are no valid UTF-8 are refused, they have no JSON form.
void tokenize_line(const engine::Tokenizer& tokenizer, const std::string& line) {
  const json value = json::parse(line, nullptr, false);
  json out;
  if (value.is_string()) {
    out = tokenizer.encode(value.get<std::string>());
  } else if (value.is_array()) {
    std::vector<TokenId> ids;
    for (const json& id : value) {
      if (!id.is_number_integer()) throw Failed("an id is a whole number");
      ids.push_back(checked_id(id.get<int64_t>(), tokenizer.size()));
    }
    out = tokenizer.decode(ids);
  } else {
    throw Failed(value.is_discarded() ? "the line is no valid JSON"
                                      : "a line is a JSON string or an array of ids");
  }
  std::cout << out.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
}

json logits_json(engine::Runtime& runtime, const std::vector<TokenId>& ids,
                 const LogitsArguments& arguments) {
  engine::KvTree::Sequence sequence = runtime.tree().acquire(ids, 0, /*reuse=*/true);
  if (runtime.prefill(sequence, ids, {})) {
    throw Failed(std::to_string(ids.size()) + " ids do not fit; at most " +
                 std::to_string(runtime.longest_sequence()) + " with this KV budget and model");
  }
  const std::vector<float> logits = runtime.logits();
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t top = std::min(size_t(arguments.top), logits.size());
  std::partial_sort(order.begin(), order.begin() + ptrdiff_t(top), order.end(),
                    [&](TokenId a, TokenId b) {
                      return logits[size_t(a)] != logits[size_t(b)]
                                 ? logits[size_t(a)] > logits[size_t(b)]
                                 : a < b;
                    });
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float l : logits) sum += std::exp(l - most);
  json out = {{"top", json::array()},
              {"logsumexp", most + std::log(sum)},
              {"backend", runtime.backend().name()}};
  for (size_t i = 0; i < top; ++i) out["top"].push_back({order[i], logits[size_t(order[i])]});
  if (arguments.all) out["logits"] = logits;
  if (arguments.greedy > 0) {
    out["greedy"] = json::array();
    for (int i = 0; i < arguments.greedy; ++i) {
      const kernels::Selection best = runtime.select({}, {}, 1);
      if (best.ids.empty()) throw Failed("the model gave numbers that are not finite");
      out["greedy"].push_back(best.ids.front());
      if (i + 1 < arguments.greedy && runtime.prefill(sequence, best.ids, {})) {
        throw Failed("--greedy " + std::to_string(arguments.greedy) + " does not fit; at most " +
                     std::to_string(runtime.longest_sequence()) + " tokens in all");
      }
    }
  }
  runtime.tree().release(std::move(sequence));
  return out;
}

template <typename Work>
int reporting_failure(Work work) {
  try {
    work();
    return 0;
  } catch (const std::exception& failure) {
    report(failure.what());
    return 1;
  }
}

}  // namespace

void add_tokenize_flags(CLI::App& command, TokenizeArguments& arguments) {
  command.add_option("--ids", arguments.ids, "print the exact text of these ids: 1,2,3");
  command.add_flag("--jsonl", arguments.jsonl, "a JSON string, or an array of ids, per line of stdin");
}

void add_logits_flags(CLI::App& command, LogitsArguments& arguments) {
  command.add_option("--ids", arguments.ids, "the prompt: 1,2,3");
  command.add_option("--ids-file", arguments.ids_file, "a file with the prompt's ids");
  command.add_option("--greedy", arguments.greedy, "also the next N greedy ids, end-of-text among them")
      ->check(CLI::Range(0, 1 << 20));
  command.add_option("--top", arguments.top, "how many of the best logits (default 20)")
      ->check(CLI::Range(1, 1 << 20));
  command.add_flag("--all", arguments.all, "also all logits");
}

int run_tokenize(const TokenizeArguments& arguments, const Options& options) {
  return reporting_failure([&] {
    const engine::GgufFile file(choose_model(options).path.string());
    const engine::Tokenizer tokenizer(file);
    if (!arguments.ids.empty()) {
      std::cout << tokenizer.decode(parse_ids(arguments.ids, tokenizer.size()));
      return;
    }
    if (arguments.jsonl) {
      require_stdin();
      std::string line;
      while (std::getline(std::cin, line)) {
        if (line.empty()) continue;
        try {
          tokenize_line(tokenizer, line);
        } catch (const Failed& failure) {  // errors as lines too, as `complete --jsonl` has them
          std::cout << json{{"error", failure.what()}}.dump() << std::endl;
        }
      }
      return;
    }
    require_stdin();
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    std::cout << json(tokenizer.encode(text)).dump() << "\n";
  });
}

int run_logits(const LogitsArguments& arguments, const Options& options) {
  if (arguments.ids.empty() == arguments.ids_file.empty()) {
    report("model logits: give either --ids or --ids-file");
    return 2;
  }
  return reporting_failure([&] {
    Options exact = options;
    // The sequence may be as long as the model reads, not only as a completion's prompt is.
    std::string text = arguments.ids;
    if (!arguments.ids_file.empty()) {
      std::ifstream in(arguments.ids_file);
      if (!in || in.peek() == std::ifstream::traits_type::eof()) {
        throw Failed(arguments.ids_file + ": cannot be read, or is empty");
      }
      text.assign(std::istreambuf_iterator<char>(in), {});
    }
    const size_t tokens = size_t(std::count_if(text.begin(), text.end(), [](char c) { return c == ','; })) + 1;
    exact.window_tokens = std::max<int>(exact.window_tokens, int(tokens) + arguments.greedy);
    const std::unique_ptr<engine::Runtime> runtime = load_runtime(announced_model(options), exact);
    const std::vector<TokenId> ids = parse_ids(text, runtime->model().config.vocabulary);
    if (ids.empty()) throw Failed("no ids given");
    std::cout << logits_json(*runtime, ids, arguments).dump() << "\n";
  });
}

}  // namespace foretoken::lsp

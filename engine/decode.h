// Generates one completion behind a prompt: healing, greedy choice, stop rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/completion.h"
#include "engine/healing.h"
#include "engine/runtime.h"
#include "engine/stop.h"

namespace foretoken::engine {

struct DecodeResult {
  std::string text;
  Finish finish = Finish::stop;
  StopReason stop_reason = StopReason::none;
  std::string error;
  int output_tokens = 0;   // healed ones among them
  int healed_tokens = 0;   // tokens that only repeat typed bytes, in whole or in part
  double logprob = 0;
  std::chrono::steady_clock::time_point first_text{};  // when the first token added text
};

/// Who watches while it decodes. Both may be empty.
struct DecodeWatch {
  /// After every token that adds text: all of it so far. False: nobody wants the rest.
  std::function<bool(std::string_view text)> keep_on;
  std::vector<uint64_t>* hashes = nullptr;  // of the logits' bits, one per step
};

/// The prompt is computed; `sequence` ends with it. Greedy. `typed`: bytes taken off the prompt by
/// healing, which the answer must begin with and which are not part of result.text.
DecodeResult decode(Runtime& runtime, KvTree::Sequence& sequence, std::string typed,
                    const StopContext& context, int max_tokens, std::stop_token stop, const DecodeWatch& watch = {});

}  // namespace foretoken::engine

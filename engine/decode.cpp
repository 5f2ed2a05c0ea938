#include "engine/decode.h"

#include <algorithm>
#include <bit>

namespace foretoken::engine {
namespace {

/// FNV-1a over the floats' bits.
uint64_t hash_of(std::span<const float> values) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const float value : values) hash = (hash ^ std::bit_cast<uint32_t>(value)) * 0x100000001b3u;
  return hash;
}

}  // namespace

DecodeResult decode(Runtime& runtime, KvTree::Sequence& sequence, std::string typed,
                    const StopContext& context, int max_tokens, std::stop_token stop, const DecodeWatch& watch) {
  const Tokenizer& tokenizer = runtime.tokenizer();
  const Fim& fim = runtime.fim();
  DecodeResult result;
  Restriction restriction(tokenizer, std::move(typed));
  StopRule rule(context);
  Detokenizer characters(tokenizer);
  std::string text;
  bool cut_short = false;
  std::optional<StopRule::Verdict> verdict;

  const auto feed = [&](std::string piece) {
    text += piece;
    if (!piece.empty()) verdict = rule.push(piece);
  };
  // Healing steps do not count against the limit: they are typed already.
  for (int added = 0; !verdict;) {
    if (watch.hashes) watch.hashes->push_back(hash_of(runtime.logits()));
    const std::vector<TokenId> allowed = restriction.allowed();
    const kernels::Selection best = runtime.select(fim.banned, allowed, 1);
    if (!best.finite || best.ids.empty()) {
      result.error = "the model gave numbers that are not finite: its file is damaged or was not "
                     "made for this architecture; pull or convert it again";
      return result;
    }
    const TokenId id = best.ids.front();
    if (fim.is_stop(id)) {
      result.finish = Finish::eos;
      break;
    }
    ++result.output_tokens;
    if (restriction.active()) ++result.healed_tokens;
    const std::string_view beyond = restriction.accept(id);
    if (!beyond.empty()) {
      if (result.first_text == std::chrono::steady_clock::time_point{}) {
        result.first_text = std::chrono::steady_clock::now();
      }
      result.logprob += double(best.logits.front()) - double(best.logsumexp);
      ++added;
    }
    feed(beyond.size() == tokenizer.text(id).size() ? characters.push(id) : std::string(beyond));
    if (verdict) break;
    if (watch.keep_on && !text.empty() && !watch.keep_on(text)) {
      result.finish = Finish::cancelled;
      break;
    }
    if (added >= max_tokens || sequence.length() + 1 >= runtime.longest_sequence()) {
      result.finish = Finish::length;
      cut_short = true;
      break;
    }
    const auto trouble = runtime.prefill(sequence, std::span(&id, 1), stop);
    if (trouble == Runtime::Trouble::stopped) {
      result.finish = Finish::cancelled;
      return result;
    }
    if (trouble == Runtime::Trouble::no_room) {
      result.finish = Finish::length;
      cut_short = true;
      break;
    }
  }
  if (!verdict) verdict = rule.finish(cut_short);
  result.stop_reason = verdict->reason;
  result.text = text.substr(0, std::min(verdict->keep, text.size()));
  return result;
}

}  // namespace foretoken::engine

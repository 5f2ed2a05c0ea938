#include "engine/compute.h"

#include <algorithm>

#include "engine/decode.h"
#include "engine/healing.h"
#include "engine/prompt.h"
#include "engine/stop.h"

namespace foretoken::engine {
namespace {

using Clock = std::chrono::steady_clock;

/// What stop rules look at on either side of the cursor.
constexpr size_t kStopContext = 64u << 10;

double ms(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

bool starts_with_blank(std::string_view text) {
  return !text.empty() && (text.front() == ' ' || text.front() == '\t');
}

/// The prompt of one request, in the cache. Released with the object.
class Prefilled {
 public:
  Prefilled(Runtime& runtime, const Request& request, const Layout& layout, std::stop_token stop)
      : runtime_(runtime), request_(request), layout_(layout), stop_(std::move(stop)) {}
  ~Prefilled() { runtime_.tree().release(std::move(sequence)); }

  /// Again with another `keep` where the first prompt was a question only.
  std::optional<Runtime::Trouble> run(size_t keep) {
    runtime_.tree().release(std::move(sequence));
    middle = std::string_view(layout_.middle).substr(0, keep);
    prompt = make_prompt(runtime_.tokenizer(), runtime_.fim(), request_.path, layout_, middle);
    auto& ids = prompt.ids;
    if (ids.empty()) {
      ids.push_back(runtime_.fim().bos.value_or(runtime_.tokenizer().eos().value_or(0)));
    }
    // The last token gives the logits, unless what it gave is still known.
    const bool known = request_.reuse && runtime_.remembers_end(ids);
    const int size = static_cast<int>(ids.size());
    sequence = runtime_.tree().acquire(ids, known ? size : size - 1, request_.reuse);
    const int cached = sequence.length();
    reused = reused < 0 ? cached : std::min(reused, cached);
    if (cached == size) {
      runtime_.recall_end(ids);
      return std::nullopt;
    }
    const auto trouble = runtime_.prefill(sequence, std::span(ids).subspan(size_t(cached)), stop_);
    computed += sequence.length() - cached;
    if (!trouble && request_.reuse) runtime_.remember_end(ids);
    return trouble;
  }

  KvTree::Sequence sequence;
  Prompt prompt;
  std::string_view middle;
  int reused = -1, computed = 0;  // tokens, over one or two prompts

 private:
  Runtime& runtime_;
  const Request& request_;
  const Layout& layout_;
  const std::stop_token stop_;
};

StopContext stop_context(const Request& request, size_t typed_at) {
  const std::string_view text = *request.text;
  StopContext context;
  context.mode = request.mode;
  context.before = text.substr(0, typed_at);
  if (context.before.size() > kStopContext) {
    context.before.remove_prefix(context.before.size() - kStopContext);
  }
  context.after = text.substr(request.cursor, kStopContext);
  return context;
}

std::string no_room(const Runtime& runtime, size_t tokens) {
  const size_t context = size_t(runtime.model().config.context);
  return "the prompt of " + std::to_string(tokens) + " tokens does not fit " +
         (tokens >= context
              ? "the model, which reads " + std::to_string(context) + "; take another model"
              : std::string("the KV cache; raise the KV budget"));
}

}  // namespace

Completion compute(Runtime& rt, const Request& request, const Layout& layout, Clock::time_point start,
                   std::stop_token stop, const ComputeWatch& watch) {
  Completion result;
  const Clock::time_point begun = Clock::now();
  const auto enter = [&](Stage stage) {
    if (watch.stage) watch.stage(stage);
  };
  enter(Stage::prefill);
  Healed healed{layout.middle.size(), false};
  if (request.healing && !request.usual_layout) healed = heal(rt.tokenizer(), layout.middle);

  Prefilled prefilled(rt, request, layout, stop);
  std::optional<Runtime::Trouble> trouble = prefilled.run(healed.keep);
  if (!trouble && healed.indentation) {
    const kernels::Selection free = rt.select(rt.fim().banned, {}, 1);
    if (!free.ids.empty() && !starts_with_blank(rt.tokenizer().text(free.ids.front()))) {
      // The model would not go on with blanks here: let it choose the indentation from column 0.
      const size_t newline = layout.middle.rfind('\n');
      healed.keep = newline == std::string::npos ? 0 : newline + 1;
      result.from_line_start = true;
      if (watch.from_line_start) watch.from_line_start(layout.middle.substr(healed.keep));
      trouble = prefilled.run(healed.keep);
    }
  }
  const Clock::time_point ready = Clock::now();
  result.timings.prefill_ms = ms(ready - begun);

  DecodeResult decoded;
  if (!trouble) {
    enter(Stage::decode);
    const size_t typed_at =
        layout.anchor + (result.from_line_start ? healed.keep : layout.middle.size());
    std::string typed = result.from_line_start ? "" : layout.middle.substr(healed.keep);
    decoded = decode(rt, prefilled.sequence, std::move(typed), stop_context(request, typed_at),
                     request.max_tokens, stop,
                     {watch.keep_on, request.want_hashes ? &result.hashes : nullptr});
  }
  Timings& t = result.timings;
  t.decode_ms = ms(Clock::now() - ready);
  t.output_tokens = decoded.output_tokens;
  t.reused_tokens = std::max(prefilled.reused, 0);
  t.new_tokens = prefilled.computed + decoded.healed_tokens;
  t.prompt_tokens = t.reused_tokens + t.new_tokens;
  if (decoded.first_text != Clock::time_point{}) t.ttft_ms = ms(decoded.first_text - start);

  result.finish = trouble == Runtime::Trouble::stopped ? Finish::cancelled : decoded.finish;
  result.error = trouble == Runtime::Trouble::no_room ? no_room(rt, prefilled.prompt.ids.size())
                                                      : std::move(decoded.error);
  result.text = std::move(decoded.text);
  result.stop_reason = decoded.stop_reason;
  result.logprob = decoded.logprob;
  if (request.want_card) {
    result.card = make_card(prefilled.prompt, request.path, layout, prefilled.middle, *request.text,
                            t.reused_tokens);
  }
  if (request.want_prompt) result.prompt = prompt_text(rt.tokenizer(), prefilled.prompt);
  return result;
}

}  // namespace foretoken::engine

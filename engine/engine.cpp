#include "engine/engine.h"

#include <algorithm>

#include "engine/decode.h"
#include "engine/healing.h"
#include "engine/prompt.h"
#include "engine/stop.h"

namespace foretoken::engine {
namespace {

using Clock = std::chrono::steady_clock;

/// Layout histories kept; a history is a few kilobytes.
constexpr size_t kDocuments = 256;
/// What stop rules look at on either side of the cursor.
constexpr size_t kStopContext = 64u << 10;

double ms(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

bool starts_with_blank(std::string_view text) {
  return !text.empty() && (text.front() == ' ' || text.front() == '\t');
}

}  // namespace

struct Engine::Job {
  Ticket ticket = 0;
  Request request;
  Done done;
  std::stop_source stop;
  Clock::time_point submitted = Clock::now();
};

Engine::Engine(std::unique_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {
  thread_ = std::jthread([this](std::stop_token stop) { work(stop); });
}

Engine::~Engine() {
  std::vector<std::shared_ptr<Job>> left;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [ticket, job] : open_) left.push_back(job);
    queue_.clear();
  }
  for (const auto& job : left) {
    job->stop.request_stop();
    answer(job, {.finish = Finish::cancelled, .reason = "shutting down"});
  }
  thread_.request_stop();
  wake_.notify_all();
}

Engine::Ticket Engine::submit(Request request, Done done) {
  auto job = std::make_shared<Job>();
  job->request = std::move(request);
  job->done = std::move(done);
  std::vector<std::shared_ptr<Job>> superseded;
  {
    const std::lock_guard lock(mutex_);
    job->ticket = next_ticket_++;
    for (const auto& [ticket, other] : open_) {
      if (other->request.document == job->request.document) superseded.push_back(other);
    }
    std::erase_if(queue_, [&](const auto& other) {
      return other->request.document == job->request.document;
    });
    open_.emplace(job->ticket, job);
    queue_.push_back(job);
  }
  for (const auto& old : superseded) {
    old->stop.request_stop();
    answer(old, {.finish = Finish::cancelled, .reason = "superseded by a newer request"});
  }
  wake_.notify_one();
  return job->ticket;
}

void Engine::cancel(Ticket ticket) {
  std::shared_ptr<Job> job;
  {
    const std::lock_guard lock(mutex_);
    const auto it = open_.find(ticket);
    if (it == open_.end()) return;
    job = it->second;
    std::erase(queue_, job);
  }
  job->stop.request_stop();
  answer(job, {.finish = Finish::cancelled, .reason = "cancelled"});
}

void Engine::observe(Request) {}

void Engine::answer(const std::shared_ptr<Job>& job, Completion completion) {
  {
    const std::lock_guard lock(mutex_);
    if (open_.erase(job->ticket) == 0) return;  // answered already
  }
  completion.timings.total_ms = ms(Clock::now() - job->submitted);
  job->done(std::move(completion));
}

void Engine::work(std::stop_token stop) {
  while (true) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
      job = queue_.front();
      queue_.pop_front();
    }
    answer(job, compute(*job));
  }
}

LayoutHistory& Engine::history(const std::string& document) {
  const auto [it, added] = histories_.try_emplace(document);
  if (added) {
    history_order_.push_back(document);
    if (history_order_.size() > kDocuments) {
      histories_.erase(history_order_.front());
      history_order_.pop_front();
    }
  }
  return it->second;
}

Completion Engine::compute(Job& job) {
  const Request& request = job.request;
  const std::stop_token stop = job.stop.get_token();
  Runtime& rt = *runtime_;
  const Tokenizer& tokenizer = rt.tokenizer();
  Completion result;
  const Clock::time_point start = Clock::now();
  result.timings.queue_ms = ms(start - job.submitted);
  const std::string_view text = *request.text;

  LayoutLimits limits;
  limits.window = rt.window();
  limits.usual = request.usual_layout;
  // A model without a middle token reads straight on: the anchor only decides what is retokenised.
  const Layout& layout =
      history(request.document).place(tokenizer, limits, text, request.cursor);

  const bool left_of_middle = request.usual_layout;  // then P ends at the cursor, and stays as typed
  Healed healed{layout.middle.size(), false};
  if (request.healing && !left_of_middle) healed = heal(tokenizer, layout.middle);

  KvTree::Sequence sequence;
  Prompt prompt;
  std::string_view middle;
  int reused = -1, computed = 0;  // tokens, over one or two prompts
  const auto prefill = [&](size_t keep) -> std::optional<Runtime::Trouble> {
    middle = std::string_view(layout.middle).substr(0, keep);
    prompt = make_prompt(tokenizer, rt.fim(), request.path, layout, middle);
    if (prompt.ids.empty()) prompt.ids.push_back(rt.fim().bos.value_or(tokenizer.eos().value_or(0)));
    const int most = static_cast<int>(prompt.ids.size()) - 1;  // the last token gives the logits
    sequence = rt.tree().acquire(prompt.ids, most, request.reuse);
    const int cached = sequence.length();
    reused = reused < 0 ? cached : std::min(reused, cached);
    const auto trouble = rt.prefill(sequence, std::span(prompt.ids).subspan(size_t(cached)), stop);
    computed += sequence.length() - cached;
    return trouble;
  };

  std::optional<Runtime::Trouble> trouble = prefill(healed.keep);
  if (!trouble && healed.indentation) {
    const kernels::Selection free = rt.select(rt.fim().banned, {}, 1);
    if (!free.ids.empty() && !starts_with_blank(tokenizer.text(free.ids.front()))) {
      // The model would not go on with blanks here: let it choose the indentation from column 0.
      rt.tree().release(std::move(sequence));
      const size_t newline = layout.middle.rfind('\n');
      healed.keep = newline == std::string::npos ? 0 : newline + 1;
      result.from_line_start = true;
      trouble = prefill(healed.keep);
    }
  }
  const Clock::time_point ready = Clock::now();
  result.timings.prefill_ms = ms(ready - start);

  DecodeResult decoded;
  if (!trouble) {
    const size_t typed_at = layout.anchor + (result.from_line_start ? healed.keep : layout.middle.size());
    StopContext context;
    context.mode = request.mode;
    context.before = text.substr(0, typed_at);
    if (context.before.size() > kStopContext) {
      context.before.remove_prefix(context.before.size() - kStopContext);
    }
    context.after = text.substr(request.cursor, kStopContext);
    std::string typed = result.from_line_start ? "" : layout.middle.substr(healed.keep);
    decoded = decode(rt, sequence, std::move(typed), context, request.max_tokens, stop);
  }
  result.timings.decode_ms = ms(Clock::now() - ready);
  result.timings.output_tokens = decoded.output_tokens;
  result.timings.reused_tokens = std::max(reused, 0);
  result.timings.new_tokens = computed + decoded.healed_tokens;
  result.timings.prompt_tokens = result.timings.reused_tokens + result.timings.new_tokens;
  if (decoded.first_text != Clock::time_point{}) {
    result.timings.ttft_ms = ms(decoded.first_text - job.submitted);
  }
  if (trouble == Runtime::Trouble::stopped) decoded.finish = Finish::cancelled;
  if (trouble == Runtime::Trouble::no_room) {
    const int context = rt.model().config.context;
    result.error = "the prompt of " + std::to_string(prompt.ids.size()) + " tokens does not fit " +
                   (int(prompt.ids.size()) >= context
                        ? "the model, which reads " + std::to_string(context) + "; take another model"
                        : std::string("the KV cache; raise the KV budget"));
  }
  if (!decoded.error.empty()) result.error = decoded.error;
  result.text = std::move(decoded.text);
  result.finish = decoded.finish;
  result.stop_reason = decoded.stop_reason;
  result.logprob = decoded.logprob;
  if (request.want_card) {
    result.card = make_card(prompt, request.path, layout, middle, text, result.timings.reused_tokens);
  }
  if (request.want_prompt) result.prompt = prompt_text(tokenizer, prompt);
  rt.tree().release(std::move(sequence));
  return result;
}

}  // namespace foretoken::engine

#include "engine/engine.h"

#include <algorithm>

#include "engine/compute.h"
#include "engine/healing.h"
#include "engine/prompt.h"

namespace foretoken::engine {
namespace {

/// Documents whose layouts are kept; a history is some dozens of kilobytes.
constexpr size_t kDocuments = 128;

double ms(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

}  // namespace

Engine::Engine(std::unique_ptr<Runtime> runtime, EngineOptions options)
    : runtime_(std::move(runtime)), options_(options), kv_pages_free_(runtime_->tree().free_pages()) {
  thread_ = std::jthread([this](std::stop_token stop) { work(stop); });
}

void Engine::close() {
  scheduler_.close();
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

EngineState Engine::state() const {
  return {scheduler_.waiting(), runtime_->kv_pages(), kv_pages_free_, kv_evicted_, idle_ms_};
}

void Engine::work(std::stop_token stop) {
  // In a replay every request is followed by what idle time would bring, before the next is looked at.
  const auto settle_now = [&] {
    while (options_.replay && !unsettled_.empty() && !stop.stop_requested()) {
      const std::string name = unsettled_.front();
      unsettled_.pop_front();
      settle(name, stop, /*limited=*/false);
    }
  };
  while (auto next = scheduler_.next(stop, settle_due())) {
    for (const Request& seen : next->seen) {
      place(seen);
      idle_left_ms_ = double(options_.idle_budget.count());
      settle_now();
    }
    if (next->run) run(next->run);
    settle_now();
    publish();
  }
}

void Engine::run(const std::shared_ptr<Scheduler::Run>& run) {
  const std::stop_token stop = run->stop.get_token();
  if (run->settle) {
    const std::string name = unsettled_.front();
    unsettled_.pop_front();
    settle(name, stop, /*limited=*/true);
    return scheduler_.finish(run, {});
  }
  const Request& request = run->request;
  const bool guess = request.priority == Priority::idle;
  if (guess && idle_left_ms_ <= 0) {
    return scheduler_.give_up(run, "the idle budget is spent");
  }
  const Clock::time_point begun = Clock::now();
  LayoutHistory tried;  // a guess leaves no mark on the history
  const Layout* layout = nullptr;
  if (guess) {
    tried = document(request.document).layouts;
    layout = &tried.place(runtime_->tokenizer(), limits(request.usual_layout), *request.text,
                          request.cursor, request.context);
  } else {
    layout = &place(request);
  }
  ComputeWatch watch;
  watch.stage = [&](Stage stage) { run->stage = stage; };
  watch.from_line_start = [&](std::string typed) { scheduler_.from_line_start(*run, std::move(typed)); };
  watch.keep_on = [&](std::string_view text) { return scheduler_.wants(*run, text); };
  Completion completion = compute(*runtime_, request, *layout, run->submitted, stop, watch);
  completion.timings.queue_ms = ms(begun - run->submitted);
  if (guess) {
    idle_left_ms_ -= ms(Clock::now() - begun);
    idle_ms_ = idle_ms_ + ms(Clock::now() - begun);
  } else {
    idle_left_ms_ = double(options_.idle_budget.count());
  }
  publish();
  scheduler_.finish(run, std::move(completion));
}

Engine::Document& Engine::document(const std::string& name) {
  if (order_.empty() || order_.back() != name) {
    std::erase(order_, name);
    order_.push_back(name);
    if (order_.size() > kDocuments) {
      documents_.erase(order_.front());
      order_.pop_front();
    }
  }
  return documents_[name];
}

LayoutLimits Engine::limits(bool usual) const {
  LayoutLimits limits;
  limits.window = runtime_->window();
  limits.usual = usual;
  return limits;
}

const Layout& Engine::place(const Request& request) {
  Document& doc = document(request.document);
  doc.path = request.path;
  doc.reuse = request.reuse;
  const Layout& layout =
      doc.layouts.place(runtime_->tokenizer(), limits(request.usual_layout), *request.text,
                        request.cursor, request.context);
  if (!request.usual_layout) {
    std::erase(unsettled_, request.document);
    unsettled_.push_front(request.document);
  }
  return layout;
}

bool Engine::settle_due() const {
  return !options_.replay && !unsettled_.empty() && idle_left_ms_ > 0;
}

/// Computes what the next requests of the document will lean on. Where it is stopped it goes on later:
/// finished chunks stay in the tree.
void Engine::settle(const std::string& name, std::stop_token stop, bool limited) {
  const auto it = documents_.find(name);
  if (it == documents_.end()) return;
  Document& doc = it->second;
  LayoutHistory& layouts = doc.layouts;
  const Tokenizer& tokenizer = runtime_->tokenizer();
  // Without a cache to warm (`reuse` off) layouts change all the same.
  const auto computed = [&](const Layout& layout, std::string_view middle, PromptUpTo up_to) {
    if (!doc.reuse) return true;
    return compute_idly(make_prompt(tokenizer, runtime_->fim(), doc.path, layout, middle, up_to).ids,
                        stop, limited);
  };
  const auto compute_plain_prefix = [&] {
    const std::string prefix = layouts.plain_prefix();
    if (prefix.empty() || runtime_->fim().order != FimOrder::prefix_suffix_middle) return;
    Layout plain;
    plain.context = layouts.current().context;
    plain.context_ids = layouts.current().context_ids;
    plain.prefix_ids = tokenizer.encode(prefix);
    if (computed(plain, "", PromptUpTo::prefix)) layouts.plain_computed();
  };
  compute_plain_prefix();
  if (const Layout* plan = layouts.planned()) {
    const std::string_view middle = plan->middle;
    if (computed(*plan, middle.substr(0, heal(tokenizer, middle).keep), PromptUpTo::middle)) {
      layouts.carry_out();
      compute_plain_prefix();
    }
  }
  if (stop.stop_requested()) unsettled_.push_front(name);
}

bool Engine::compute_idly(const std::vector<TokenId>& ids, std::stop_token stop, bool limited) {
  const Clock::time_point begun = Clock::now();
  auto sequence = runtime_->tree().acquire(ids, static_cast<int>(ids.size()), /*reuse=*/true,
                                            /*cut=*/false);
  std::span<const TokenId> rest = std::span(ids).subspan(size_t(sequence.length()));
  bool whole = true;
  while (whole && !rest.empty()) {
    if (limited && ms(Clock::now() - begun) > idle_left_ms_) {
      whole = false;
      break;
    }
    const auto chunk = rest.first(std::min(rest.size(), size_t(kernels::kPageTokens)));
    whole = !runtime_->prefill(sequence, chunk, stop);
    rest = rest.subspan(chunk.size());
  }
  runtime_->tree().release(std::move(sequence));
  const double spent = ms(Clock::now() - begun);
  idle_left_ms_ -= spent;
  idle_ms_ = idle_ms_ + spent;
  return whole;
}

void Engine::publish() {
  kv_pages_free_ = runtime_->tree().free_pages();
  kv_evicted_ = runtime_->tree().evicted_segments();
}

}  // namespace foretoken::engine

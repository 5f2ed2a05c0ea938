#include "engine/scheduler.h"

#include <algorithm>

#include "engine/auto_closed.h"

namespace foretoken::engine {
namespace {

/// Requests answered elsewhere whose layouts are not yet followed: more than are typed in one decode.
constexpr size_t kMostSeen = 64;

bool agree(std::string_view output, std::string_view typed) {
  return output.size() < typed.size() ? typed.starts_with(output) : output.starts_with(typed);
}

Completion cancelled(const char* reason, Stage at) {
  return {.finish = Finish::cancelled, .cancelled_at = at, .reason = reason};
}

}  // namespace

std::optional<TypedSince> typed_since(const Request& older, const Request& newer) {
  if (older.path != newer.path || older.mode != newer.mode || older.max_tokens != newer.max_tokens ||
      older.healing != newer.healing || older.usual_layout != newer.usual_layout || !older.reuse ||
      !newer.reuse || newer.want_card || newer.want_prompt || newer.want_hashes ||
      newer.cursor < older.cursor) {
    return std::nullopt;
  }
  const std::string_view before = *older.text, now = *newer.text;
  const std::string_view after = before.substr(older.cursor), after_now = now.substr(newer.cursor);
  if (after_now.size() < after.size() || !after_now.ends_with(after) ||
      !auto_closed(after_now.substr(0, after_now.size() - after.size())) ||
      now.substr(0, older.cursor) != before.substr(0, older.cursor)) {
    return std::nullopt;
  }
  return TypedSince{std::string(now.substr(older.cursor, newer.cursor - older.cursor)),
                    after_now.size() - after.size()};
}

Scheduler::Ticket Scheduler::submit(Request request, Done done) {
  auto job = std::make_shared<Job>();
  job->request = std::move(request);
  job->done = std::move(done);
  std::vector<Answer> answers;
  Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = job->ticket = next_ticket_++;
    const Request& asked = job->request;
    const bool guess = asked.priority == Priority::idle;
    const bool typing = std::any_of(open_.begin(), open_.end(), [&](const auto& entry) {
      const Request& other = entry.second->request;
      return other.document == asked.document && other.priority != Priority::idle;
    });
    open_.emplace(ticket, job);
    if (closed_) {
      answers.push_back({job, cancelled("shutting down", Stage::queue)});
    } else if (guess && typing) {
      answers.push_back({job, cancelled("someone is typing", Stage::queue)});
    } else {
      for (const auto& [number, other] : open_) {
        if (other == job || other->request.document != asked.document) continue;
        const bool runs = running_ && running_->waiting == other;
        answers.push_back({other, cancelled("superseded by a newer request",
                                            runs ? running_->stage.load() : Stage::queue)});
        std::erase(queue_of(other->request.priority), other);
      }
      if (!take_over(job, &answers)) queue_of(asked.priority).push_back(job);
      stop_for(asked.priority);
    }
  }
  deliver(std::move(answers));
  wake_.notify_one();
  return ticket;
}

/// True where the run in progress, or the last one that ended unwanted, answers the job.
bool Scheduler::take_over(const std::shared_ptr<Job>& job, std::vector<Answer>* answers) {
  const Request& asked = job->request;
  if (running_ && !running_->settle && running_->request.document == asked.document) {
    Run& run = *running_;
    auto since = typed_since(run.request, asked);
    if (since && !run.stop.stop_requested() && agree(run.text, run.indentation + since->typed)) {
      job->since = *std::move(since);
      run.waiting = job;
      return true;
    }
    run.waiting = nullptr;
    run.stop.request_stop();
    return false;
  }
  if (!finished_ || finished_->request.document != asked.document) return false;
  auto since = typed_since(finished_->request, asked);
  const std::string begins = since ? finished_->indentation + since->typed : "";
  const std::string& text = finished_->completion.text;
  if (!since || !text.starts_with(begins) || text.size() == begins.size()) {
    finished_.reset();
    return false;
  }
  job->since = *std::move(since);
  Completion completion = finished_->completion;
  hand_over(&completion, *job);
  answers->push_back({job, std::move(completion)});
  return true;
}

/// Makes a run's completion the answer of the job that took it over.
void Scheduler::hand_over(Completion* completion, const Job& job) {
  completion->source = Source::in_flight;
  completion->typed = job.since.typed;
  completion->closed = job.since.closed;
  completion->timings = {};
}

/// What runs stops where it has to wait for a job of this priority.
void Scheduler::stop_for(Priority priority) {
  if (running_ && queued() && rank_of_running() > int(priority)) running_->stop.request_stop();
}

int Scheduler::rank_of_running() const {
  if (running_->settle) return int(Priority::idle);
  return running_->waiting ? int(running_->waiting->request.priority) : int(Priority::background) + 1;
}

void Scheduler::cancel(Ticket ticket) {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(mutex_);
    const auto it = open_.find(ticket);
    if (it == open_.end()) return;
    const std::shared_ptr<Job> job = it->second;
    std::erase(queue_of(job->request.priority), job);
    Stage stage = Stage::queue;
    if (running_ && running_->waiting == job) {
      stage = running_->stage;
      running_->waiting = nullptr;  // goes on: the next request may want just this
      if (queued() || job->request.priority != Priority::typing) running_->stop.request_stop();
    }
    answers.push_back({job, cancelled("cancelled", stage)});
  }
  deliver(std::move(answers));
}

void Scheduler::observe(Request request) {
  {
    const std::lock_guard lock(mutex_);
    if (running_ && !running_->settle && !running_->waiting &&
        running_->request.document == request.document) {
      const auto since = typed_since(running_->request, request);
      if (!since || !agree(running_->text, running_->indentation + since->typed)) {
        running_->stop.request_stop();
      }
    }
    seen_.push_back(std::move(request));
    if (seen_.size() > kMostSeen) seen_.pop_front();
  }
  wake_.notify_one();
}

size_t Scheduler::waiting() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

void Scheduler::close() {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (auto& queue : queues_) queue.clear();
    for (const auto& [ticket, job] : open_) answers.push_back({job, cancelled("shutting down", Stage::queue)});
    if (running_) {
      running_->waiting = nullptr;
      running_->stop.request_stop();
    }
  }
  deliver(std::move(answers));
}

bool Scheduler::queued() const {
  return std::any_of(std::begin(queues_), std::end(queues_), [](const auto& q) { return !q.empty(); });
}

std::optional<Scheduler::Next> Scheduler::next(std::stop_token stop, bool settle_due) {
  std::unique_lock lock(mutex_);
  if (!wake_.wait(lock, stop, [&] { return queued() || !seen_.empty() || settle_due; })) {
    return std::nullopt;
  }
  if (stop.stop_requested()) return std::nullopt;
  Next next;
  next.seen.assign(std::make_move_iterator(seen_.begin()), std::make_move_iterator(seen_.end()));
  seen_.clear();
  const auto begin = [&](Priority priority) {
    auto& queue = queue_of(priority);
    if (queue.empty()) return false;
    const std::shared_ptr<Job> job = queue.front();
    queue.pop_front();
    next.run = std::make_shared<Run>();
    next.run->request = job->request;
    next.run->submitted = job->submitted;
    next.run->begun_for = job->ticket;
    next.run->waiting = job;
    job->since = {};
    return true;
  };
  if (!begin(Priority::typing) && !begin(Priority::idle)) {
    if (settle_due && next.seen.empty()) {
      next.run = std::make_shared<Run>();
      next.run->settle = true;
    } else {
      begin(Priority::background);
    }
  }
  if (next.run && !next.run->settle) finished_.reset();
  running_ = next.run;
  return next;
}

void Scheduler::from_line_start(Run& run, std::string indentation) {
  const std::lock_guard lock(mutex_);
  run.indentation = std::move(indentation);
}

bool Scheduler::wants(Run& run, std::string_view text) {
  {
    const std::lock_guard lock(mutex_);
    run.text = text;
    if (run.stop.stop_requested()) return false;
    if (!run.waiting || run.waiting->ticket == run.begun_for) return true;
    if (agree(text, run.indentation + run.waiting->since.typed)) return true;
    requeue(std::move(run.waiting));
    run.waiting = nullptr;
  }
  return false;
}

void Scheduler::requeue(std::shared_ptr<Job> job) {
  job->since = {};
  queue_of(job->request.priority).push_front(std::move(job));
}

void Scheduler::finish(const std::shared_ptr<Run>& run, Completion completion) {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(mutex_);
    running_.reset();
    if (run->settle) return;
    const std::shared_ptr<Job> job = std::move(run->waiting);
    const bool whole = completion.finish != Finish::cancelled;
    if (!job) {
      if (whole && completion.error.empty()) {
        finished_ = Finished{run->request, run->indentation, std::move(completion)};
      }
      return;
    }
    const std::string begins = run->indentation + job->since.typed;
    if (!whole) {
      requeue(job);  // it stopped for something that goes before it
    } else if (job->ticket == run->begun_for || !completion.error.empty()) {
      answers.push_back({job, std::move(completion)});
    } else if (completion.text.starts_with(begins) && completion.text.size() > begins.size()) {
      hand_over(&completion, *job);
      answers.push_back({job, std::move(completion)});
    } else {
      requeue(job);  // typed further than it goes
    }
  }
  deliver(std::move(answers));
}

void Scheduler::give_up(const std::shared_ptr<Run>& run, const char* reason) {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(mutex_);
    running_.reset();
    const std::shared_ptr<Job> job = std::move(run->waiting);
    if (!job) return;
    if (job->ticket == run->begun_for) {
      answers.push_back({job, cancelled(reason, Stage::queue)});
    } else {
      requeue(job);
    }
  }
  deliver(std::move(answers));
}

void Scheduler::deliver(std::vector<Answer> answers) {
  for (Answer& answer : answers) {
    {
      const std::lock_guard lock(mutex_);
      if (open_.erase(answer.job->ticket) == 0) continue;  // answered already
    }
    const Clock::duration total = Clock::now() - answer.job->submitted;
    answer.completion.timings.total_ms = std::chrono::duration<double, std::milli>(total).count();
    answer.job->done(std::move(answer.completion));
  }
}

}  // namespace foretoken::engine

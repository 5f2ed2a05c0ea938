#include "tests/support/fake_completer.h"

#include <utility>

namespace foretoken::lsp {

FakeCompleter::FakeCompleter(std::string text, When when) {
  answer_.text = std::move(text);
  answer_.model = "fake";
  answer_.backend = "none";
  if (when == When::on_thread) thread_.emplace([this](std::stop_token stop) { work(stop); });
}

FakeCompleter::~FakeCompleter() {
  std::vector<Ticket> left;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [ticket, job] : running_) left.push_back(ticket);
  }
  for (const Ticket ticket : left) cancel(ticket);
}

Completer::Ticket FakeCompleter::start(CompletionQuery query, Done done) {
  std::vector<Ticket> older;
  Ticket ticket = 0;
  bool wait = false;
  {
    std::lock_guard lock(mutex_);
    const std::string key = canonical_uri(query.document->uri());
    for (const auto& [number, job] : running_) {
      if (canonical_uri(job.query.document->uri()) == key) older.push_back(number);
    }
    ticket = ++last_;
    queries_.push_back(query);
    if (queries_.size() > 100) queries_.pop_front();
    running_.emplace(ticket, Job{std::move(query), std::move(done)});
    wait = gate_closed_;
  }
  for (const Ticket old : older) {
    if (auto job = take(old)) {
      CompletionAnswer superseded;
      superseded.finish = engine::Finish::cancelled;
      deliver(std::move(job->done), std::move(superseded));
    }
  }
  if (!wait) {
    if (auto job = take(ticket)) deliver(std::move(job->done), answer_to(job->query));
  }
  return ticket;
}

void FakeCompleter::cancel(Ticket ticket) {
  auto job = take(ticket);
  if (!job) return;
  {
    std::lock_guard lock(mutex_);
    cancelled_.push_back(ticket);
  }
  CompletionAnswer answer;
  answer.finish = engine::Finish::cancelled;
  deliver(std::move(job->done), std::move(answer));
}

void FakeCompleter::close_gate() {
  std::lock_guard lock(mutex_);
  gate_closed_ = true;
}

void FakeCompleter::open_gate() {
  std::vector<Ticket> waiting;
  {
    std::lock_guard lock(mutex_);
    gate_closed_ = false;
    for (const auto& [ticket, job] : running_) waiting.push_back(ticket);
  }
  for (const Ticket ticket : waiting) {
    if (auto job = take(ticket)) deliver(std::move(job->done), answer_to(job->query));
  }
}

void FakeCompleter::answer_with(CompletionAnswer answer) {
  std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
}

CompletionAnswer FakeCompleter::answer_to(const CompletionQuery& query) const {
  std::lock_guard lock(mutex_);
  CompletionAnswer answer = answer_;
  answer.start = query.cursor - answer_.start;
  answer.end = query.cursor + answer_.end;
  return answer;
}

std::optional<FakeCompleter::Job> FakeCompleter::take(Ticket ticket) {
  std::lock_guard lock(mutex_);
  auto node = running_.extract(ticket);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

void FakeCompleter::deliver(Done done, CompletionAnswer answer) {
  if (!thread_) return done(std::move(answer));
  std::lock_guard lock(mutex_);
  to_deliver_.emplace_back(std::move(done), std::move(answer));
  filled_.notify_one();
}

void FakeCompleter::work(std::stop_token stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    if (!filled_.wait(lock, stop, [&] { return !to_deliver_.empty(); })) return;
    auto [done, answer] = std::move(to_deliver_.front());
    to_deliver_.pop_front();
    lock.unlock();
    done(std::move(answer));
  }
}

size_t FakeCompleter::running() const {
  std::lock_guard lock(mutex_);
  return running_.size();
}

std::vector<Completer::Ticket> FakeCompleter::cancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

std::vector<CompletionQuery> FakeCompleter::queries() const {
  std::lock_guard lock(mutex_);
  return {queries_.begin(), queries_.end()};
}

uint64_t FakeCompleter::started() const {
  std::lock_guard lock(mutex_);
  return last_;
}

}  // namespace foretoken::lsp

#include "tests/support/fake_engine.h"

#include <chrono>
#include <utility>

namespace foretoken::lsp {

FakeEngine::~FakeEngine() {
  std::map<Ticket, Job> left;
  {
    const std::lock_guard lock(mutex_);
    left = std::exchange(open_, {});
  }
  for (auto& [ticket, job] : left) job.done({.finish = engine::Finish::cancelled});
}

std::string FakeEngine::answer_to(const std::string& name, const engine::Request& request) {
  const size_t colon = request.document.rfind(':');  // behind what an owner puts in front
  return name + "|" + request.document.substr(colon == std::string::npos ? 0 : colon + 1) + "|" +
         std::to_string(request.cursor) + "|" + *request.text;
}

EngineLink::Ticket FakeEngine::submit(engine::Request request, Done done) {
  engine::Completion completion;
  completion.text = answer_to(name_, request);
  Ticket ticket = 0;
  bool now = false;
  std::vector<Done> superseded;
  {
    const std::lock_guard lock(mutex_);
    ticket = ++last_;
    for (auto at = open_.begin(); at != open_.end();) {
      const bool older = at->second.request.document == request.document;
      if (older) superseded.push_back(std::move(at->second.done));
      at = older ? open_.erase(at) : std::next(at);
    }
    requests_.push_back(request);
    now = !closed_;
    if (!now) open_[ticket] = {std::move(request), done};
    changed_.notify_all();
  }
  for (const Done& old : superseded) {
    old({.finish = engine::Finish::cancelled, .reason = "superseded by a newer request"});
  }
  if (now) done(std::move(completion));
  return ticket;
}

void FakeEngine::cancel(Ticket ticket) {
  Done done;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(ticket);
    if (found == open_.end()) return;
    done = std::move(found->second.done);
    open_.erase(found);
    changed_.notify_all();
  }
  done({.finish = engine::Finish::cancelled, .cancelled_at = engine::Stage::decode});
}

void FakeEngine::observe(engine::Request request) {
  const std::lock_guard lock(mutex_);
  observed_.push_back(std::move(request));
  changed_.notify_all();
}

void FakeEngine::account(const AnswerCost&) {
  const std::lock_guard lock(mutex_);
  ++costs_;
  changed_.notify_all();
}

void FakeEngine::status(std::function<void(std::string json)> done) {
  done("{\"model\":\"" + name_ + "\"}");
}

void FakeEngine::open_gate() {
  std::map<Ticket, Job> left;
  {
    const std::lock_guard lock(mutex_);
    closed_ = false;
    left = std::exchange(open_, {});
    changed_.notify_all();
  }
  for (auto& [ticket, job] : left) job.done({.text = answer_to(name_, job.request)});
}

bool FakeEngine::wait(const std::function<bool()>& until) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(60), until);
}

bool FakeEngine::wait_for_requests(size_t count) {
  return wait([&] { return requests_.size() >= count; });
}

bool FakeEngine::wait_for_costs(size_t count) {
  return wait([&] { return costs_ >= count; });
}

bool FakeEngine::wait_until_idle() {
  return wait([&] { return open_.empty(); });
}

std::vector<engine::Request> FakeEngine::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::vector<engine::Request> FakeEngine::observed() const {
  const std::lock_guard lock(mutex_);
  return observed_;
}

}  // namespace foretoken::lsp

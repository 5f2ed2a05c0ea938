#include "lsp/shared_engine.h"

#include <unistd.h>

#include <exception>
#include <stdexcept>
#include <utility>

namespace foretoken::lsp {
namespace {

/// Tickets of our own engine, told from those of the table.
constexpr EngineLink::Ticket kDirect = EngineLink::Ticket{1} << 63;
/// A request that its owner died of this often is not given to another.
constexpr int kMostTries = 5;
constexpr size_t kMostCosts = 1024;

engine::Completion cancelled(const char* reason) {
  engine::Completion completion;
  completion.finish = engine::Finish::cancelled;
  completion.cancelled_at = engine::Stage::queue;
  completion.reason = reason;
  return completion;
}

engine::Completion failure(std::string what) {
  engine::Completion completion;
  completion.error = std::move(what);
  return completion;
}

}  // namespace

SharedEngine::SharedEngine(Sharing sharing, Load load, Say say)
    : sharing_(std::move(sharing)), load_(std::move(load)), say_(std::move(say)) {
  loop_->post([this] { attach(); });
  thread_ = std::thread([this] { loop_->run(); });
}

SharedEngine::~SharedEngine() {
  loop_->stop();
  thread_.join();
  server_.reset();  // others take over from here on
  client_.reset();
  if (loader_.joinable()) loader_.join();
  {
    std::unique_lock lock(mutex_);
    direct_ = nullptr;
    settled_.wait(lock, [&] { return direct_calls_ == 0; });
  }
  local_.reset();  // answers what it has
  finish_all(cancelled("shutting down"));
  auto questions = std::exchange(questions_, {});
  for (const auto& [number, done] : questions) done("");
}

void SharedEngine::wait(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, stop, [&] { return usable_ || !failure_.empty(); });
  if (!usable_ && !failure_.empty()) throw std::runtime_error(failure_);
}

// ---- What callers do: any thread.

SharedEngine::DirectCall::DirectCall(SharedEngine& shared) : shared_(shared) {
  const std::lock_guard lock(shared_.mutex_);
  engine_ = shared_.direct_;
  if (engine_ != nullptr) ++shared_.direct_calls_;
}

SharedEngine::DirectCall::~DirectCall() {
  if (engine_ == nullptr) return;
  const std::lock_guard lock(shared_.mutex_);
  if (--shared_.direct_calls_ == 0) shared_.settled_.notify_all();
}

EngineLink::Ticket SharedEngine::enqueue(engine::Request request, Done done) {
  const std::lock_guard lock(mutex_);
  const Ticket ticket = ++tickets_;
  open_[ticket] = {.request = std::move(request), .done = std::move(done)};
  waiting_.push_back(ticket);
  loop_->post([this] { pump(); });
  return ticket;
}

EngineLink::Ticket SharedEngine::submit(engine::Request request, Done done) {
  if (const DirectCall engine{*this}) {
    return engine->submit(std::move(request), std::move(done)) | kDirect;
  }
  return enqueue(std::move(request), std::move(done));
}

void SharedEngine::observe(engine::Request request) {
  if (const DirectCall engine{*this}) return engine->observe(std::move(request));
  enqueue(std::move(request), nullptr);
}

void SharedEngine::cancel(Ticket ticket) {
  if ((ticket & kDirect) != 0) {
    if (const DirectCall engine{*this}) engine->cancel(ticket & ~kDirect);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(ticket);
    if (found == open_.end()) return;
    if (found->second.sent) {
      // Whoever has it answers, and says how far it had come.
      loop_->post([this, ticket] {
        Ticket local = 0;
        bool sent = false;
        {
          const std::lock_guard again(mutex_);
          const auto there = open_.find(ticket);
          if (there == open_.end()) return;
          local = there->second.local;
          sent = there->second.sent;
        }
        if (!sent) return finish(ticket, cancelled("cancelled"));
        if (local_) return local_->cancel(local);
        if (client_) client_->send(share::Cancel{ticket});
      });
      return;
    }
  }
  finish(ticket, cancelled("cancelled"));
}

void SharedEngine::account(const AnswerCost& cost) {
  if (const DirectCall engine{*this}) return engine->account(cost);
  loop_->post([this, cost] {
    if (costs_.size() < kMostCosts) costs_.push_back(cost);
    settle_costs();
  });
}

std::string SharedEngine::model_name() const {
  const std::lock_guard lock(mutex_);
  return model_;
}

std::string SharedEngine::backend_name() const {
  const std::lock_guard lock(mutex_);
  return backend_;
}

void SharedEngine::status(std::function<void(std::string)> done) {
  const std::lock_guard lock(mutex_);
  const uint64_t question = ++questions_asked_;
  questions_[question] = std::move(done);
  loop_->post([this, question] {
    const auto tell = [this, question](const std::string& json) { told(question, json); };
    if (server_) return server_->status(tell);
    if (client_ && attached_) return client_->send(share::AskStatus{question});
    if (!local_) return tell("");
    OwnerFacts facts;
    facts.version = sharing_.version;
    facts.owner = {::getpid(), sharing_.name, 0};
    facts.shared = false;
    local_->status([tell, facts](const std::string& json) { tell(status_json(json, facts)); });
  });
}

void SharedEngine::told(uint64_t question, const std::string& json) {
  std::function<void(std::string)> done;
  {
    const std::lock_guard lock(mutex_);
    const auto found = questions_.find(question);
    if (found == questions_.end()) return;
    done = std::move(found->second);
    questions_.erase(found);
  }
  done(json);
}

void SharedEngine::finish(Ticket ticket, engine::Completion completion) {
  Done done;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(ticket);
    if (found == open_.end()) return;
    done = std::move(found->second.done);
    open_.erase(found);
  }
  if (done) done(std::move(completion));
}

/// Those of this moment, not what is asked while they are answered.
void SharedEngine::finish_all(const engine::Completion& completion) {
  std::vector<Ticket> tickets;
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    for (const auto& [ticket, open] : open_) tickets.push_back(ticket);
  }
  for (const Ticket ticket : tickets) finish(ticket, completion);
}

// ---- Who owns the engine: the loop's thread.

void SharedEngine::attach() {
  idle_ = false;
  try {
    if (!place_) place_.emplace(sharing_.folder, sharing_.key, sharing_.user);
    if (Fd socket = place_->connect()) return greet(std::move(socket));
    if (!sharing_.may_own) return load();
    if (auto ownership = place_->try_own()) return serve(std::move(ownership));
  } catch (const std::exception& error) {
    return keep_to_itself(error.what());
  }
  attach_later();
}

/// Somebody is about to listen, or about to end.
void SharedEngine::attach_later() {
  if (++attempts_ * sharing_.patience.again > sharing_.patience.hello) {
    return keep_to_itself("the process that owns the engine takes no connections");
  }
  loop_->after(sharing_.patience.again, [this] { attach(); });
}

void SharedEngine::greet(Fd socket) {
  ShareClient::Handlers handlers;
  handlers.ready = [this](share::Ready ready) {
    attached_ = true;
    attempts_ = 0;
    set_names(std::move(ready.model), std::move(ready.backend));
    settle_costs();
    pump();
  };
  handlers.answer = [this](share::Answer answer) { finish(answer.id, std::move(answer.completion)); };
  handlers.status = [this](const share::Status& status) { told(status.id, status.json); };
  handlers.gone = [this] { owner_gone(); };
  handlers.useless = [this](const std::string& why) { owner_useless(why); };
  client_ = std::make_unique<ShareClient>(
      std::move(socket), loop_,
      share::Hello{share::kProtocol, sharing_.version, ::getpid(), sharing_.name},
      sharing_.patience, std::move(handlers));
}

void SharedEngine::serve(std::unique_ptr<Ownership> ownership) {
  server_ = std::make_unique<ShareServer>(
      std::move(ownership), ShareServer::Setup{.version = sharing_.version,
                                               .name = sharing_.name,
                                               .user = sharing_.user,
                                               .limits = sharing_.limits});
  load();
}

void SharedEngine::keep_to_itself(const std::string& why) {
  if (!std::exchange(said_, true)) {
    say_("the engine is not shared: " + why + "; this process loads the model for itself");
  }
  load();
}

void SharedEngine::load() {
  if (std::exchange(loading_, true)) return;
  loader_ = std::jthread([this] {
    std::shared_ptr<EngineLink> engine;
    std::string why;
    try {
      engine = load_();
      if (!engine) why = "no model was loaded";
    } catch (const std::exception& error) {
      why = error.what();
    }
    loop_->post([this, engine = std::move(engine), why = std::move(why)] {
      loading_ = false;
      engine ? loaded(engine) : failed(why);
    });
  });
}

void SharedEngine::loaded(std::shared_ptr<EngineLink> engine) {
  local_ = std::move(engine);
  set_names(local_->model_name(), local_->backend_name());
  if (server_) server_->ready(local_);
  settle_costs();
  pump();
}

/// The next request tries once more, from the beginning.
void SharedEngine::failed(const std::string& why) {
  if (server_) server_->refuse(why);
  server_.reset();
  attempts_ = 0;
  idle_ = true;
  {
    const std::lock_guard lock(mutex_);
    failure_ = why;
    settled_.notify_all();
  }
  finish_all(failure(why));
}

void SharedEngine::owner_gone() {
  const bool was_attached = std::exchange(attached_, false);
  client_.reset();
  ask_again();
  was_attached ? attach() : attach_later();
}

void SharedEngine::owner_useless(const std::string& why) {
  attached_ = false;
  client_.reset();
  ask_again();
  keep_to_itself(why);
}

/// What the last owner had and did not answer waits again, in the order asked.
void SharedEngine::ask_again() {
  std::vector<Ticket> given_up;
  std::unordered_map<uint64_t, std::function<void(std::string)>> questions;
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    for (auto& [ticket, open] : open_) {
      open.sent = false;
      if (open.tries < kMostTries) {
        waiting_.push_back(ticket);
      } else {
        given_up.push_back(ticket);
      }
    }
    questions = std::exchange(questions_, {});
  }
  for (const Ticket ticket : given_up) {
    finish(ticket, failure("the engine ended " + std::to_string(kMostTries) +
                           " times in the middle of this request"));
  }
  for (const auto& [number, done] : questions) done("");
}

/// Gives what waits to the engine there is.
void SharedEngine::pump() {
  if (idle_) {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return;
  }
  if (idle_) return attach();
  while (local_ || attached_) {
    Ticket ticket = 0;
    Open open;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) {
        if (local_) direct_ = local_.get();  // from now on callers go there themselves
        return;
      }
      ticket = waiting_.front();
      waiting_.pop_front();
      const auto found = open_.find(ticket);
      if (found == open_.end()) continue;  // cancelled
      found->second.sent = true;
      ++found->second.tries;
      open.request = found->second.request;
      open.done = found->second.done;
    }
    send_open(ticket, std::move(open));
  }
}

void SharedEngine::send_open(Ticket ticket, Open open) {
  const bool observed = open.done == nullptr;
  if (local_ && observed) {
    local_->observe(std::move(open.request));
  } else if (local_) {
    const Ticket local =
        local_->submit(std::move(open.request), [this, ticket](engine::Completion completion) {
          finish(ticket, std::move(completion));
        });
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(ticket);
    if (found != open_.end()) found->second.local = local;
  } else if (observed) {
    client_->send(share::Observe{std::move(open.request), {}});
  } else {
    client_->send(share::Submit{ticket, std::move(open.request), {}});
  }
  if (observed) finish(ticket, {});
}

void SharedEngine::settle_costs() {
  if (!local_ && !attached_) return;
  for (const AnswerCost& cost : std::exchange(costs_, {})) {
    local_ ? local_->account(cost) : client_->send(share::Account{cost});
  }
}

void SharedEngine::set_names(std::string model, std::string backend) {
  const std::lock_guard lock(mutex_);
  model_ = std::move(model);
  backend_ = std::move(backend);
  usable_ = true;
  failure_.clear();
  settled_.notify_all();
}

}  // namespace foretoken::lsp

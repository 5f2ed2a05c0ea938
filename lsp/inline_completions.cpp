#include "lsp/inline_completions.h"

#include <utility>

namespace foretoken::lsp {

InlineCompletions::InlineCompletions(std::shared_ptr<Loop> loop, const Documents& documents,
                                     const Log& log)
    : loop_(std::move(loop)), documents_(documents), log_(log) {}

InlineCompletions::~InlineCompletions() {
  drop_all();
}

void InlineCompletions::ask(Reply reply, const InlineCompletionParams& params,
                            std::shared_ptr<const Snapshot> document, std::string path,
                            const Settings& settings) {
  ++counts_.requests;
  const std::string topic = canonical_uri(params.uri);
  const std::optional<Completer::Ticket> older = supersede(topic);

  std::optional<InlineQuestion> question;
  if (document && document->in_sync() && settings.enabled && model_ != Model::failed) {
    question = make_question(document, params.position, params.selected, documents_.encoding());
  }
  if (!question) {
    if (older) completer_->cancel(*older);
    ++counts_.empty;
    std::move(reply).result(inline_items({}), topic);
    return;
  }

  CompletionQuery query;
  query.document = question->document;
  query.cursor = question->cursor;
  query.path = std::move(path);
  query.mode = settings.mode;
  query.max_tokens = settings.max_tokens;
  const Number number = ++last_number_;
  by_id_[reply.id()] = number;
  by_topic_[topic] = number;
  pending_.emplace(
      number, Pending{std::move(reply), *std::move(question), documents_.find(params.uri), topic,
                      std::move(query), std::nullopt, std::nullopt});
  if (model_ == Model::ready) return start(number);
  pending_.at(number).timer = loop_->after(kModelPatience, [this, number] {
    if (!pending_.contains(number)) return;
    pending_.at(number).timer.reset();
    ++counts_.empty;
    answer(take(number), {});
  });
}

/// The engine answers an older request of the document as it takes the newer one; here it is
/// already gone. Its decoding may go on: the newer one takes over what agrees with it.
std::optional<Completer::Ticket> InlineCompletions::supersede(const std::string& topic) {
  const auto found = by_topic_.find(topic);
  if (found == by_topic_.end()) return std::nullopt;
  Pending old = take(found->second);
  ++counts_.superseded;
  std::move(old.reply).null();
  return old.ticket;
}

void InlineCompletions::start(Number number) {
  Pending& pending = pending_.at(number);
  // `done` runs on the engine's thread, perhaps before start returns: it only posts.
  pending.ticket = completer_->start(
      std::move(pending.query),
      [loop = loop_, alive = std::weak_ptr<int>(alive_), this, number](CompletionAnswer answer) {
        loop->post([alive, this, number, answer = std::move(answer)]() mutable {
          if (!alive.expired()) finish(number, std::move(answer));
        });
      });
}

void InlineCompletions::finish(Number number, CompletionAnswer result) {
  if (!pending_.contains(number)) return;  // superseded or cancelled meanwhile
  Pending pending = take(number);
  if (!result.error.empty()) log_.warn("a completion failed: " + result.error);
  if (result.finish == engine::Finish::cancelled || is_stale(pending)) {
    ++counts_.superseded;
    std::move(pending.reply).null();
    return;
  }
  std::optional<InlineItem> item;
  if (result.error.empty()) item = make_item(pending.question, result, documents_.encoding());
  if (!item) {
    ++counts_.empty;
    return answer(std::move(pending), {});
  }
  ++counts_.answered;
  item->id = "completion-" + std::to_string(++last_item_);
  answer(std::move(pending), {*std::move(item)});
}

/// The text has changed since: a client that does not check would show the item in the wrong place.
bool InlineCompletions::is_stale(const Pending& pending) const {
  if (!pending.asked_about) return false;
  const auto now = documents_.find(pending.asked_about->uri());
  return now != pending.asked_about && (!now || now->text() != pending.asked_about->text());
}

InlineCompletions::Pending InlineCompletions::take(Number number) {
  auto node = pending_.extract(number);
  Pending pending = std::move(node.mapped());
  if (pending.timer) loop_->cancel(*pending.timer);
  by_id_.erase(pending.reply.id());
  if (const auto at = by_topic_.find(pending.topic);
      at != by_topic_.end() && at->second == number) {
    by_topic_.erase(at);
  }
  return pending;
}

void InlineCompletions::answer(Pending pending, const std::vector<InlineItem>& items) {
  std::move(pending.reply).result(inline_items(items), pending.topic);
}

void InlineCompletions::cancel(const RequestId& id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  Pending pending = take(found->second);
  ++counts_.cancelled;
  std::move(pending.reply).error(ErrorCode::request_cancelled, "cancelled by the client");
  if (pending.ticket) completer_->cancel(*pending.ticket);
}

void InlineCompletions::document_closed(const std::string& uri) {
  const auto found = by_topic_.find(canonical_uri(uri));
  if (found == by_topic_.end()) return;
  Pending pending = take(found->second);
  ++counts_.empty;
  if (pending.ticket) completer_->cancel(*pending.ticket);
  answer(std::move(pending), {});
}

void InlineCompletions::drop_all() {
  while (!pending_.empty()) {
    Pending pending = take(pending_.begin()->first);
    std::move(pending.reply).null();
    if (pending.ticket) completer_->cancel(*pending.ticket);
  }
}

void InlineCompletions::model_ready(std::shared_ptr<Completer> completer) {
  completer_ = std::move(completer);
  model_ = Model::ready;
  std::vector<Number> waiting;
  for (auto& [number, pending] : pending_) {
    if (pending.timer) loop_->cancel(*pending.timer);
    pending.timer.reset();
    waiting.push_back(number);
  }
  for (const Number number : waiting) start(number);
}

void InlineCompletions::model_failed() {
  model_ = Model::failed;
  while (!pending_.empty()) {
    ++counts_.empty;
    answer(take(pending_.begin()->first), {});
  }
}

void InlineCompletions::fill(ServerStatus* status) const {
  status->model = model_ == Model::loading ? "loading"
                  : model_ == Model::ready ? "ready"
                                           : "failed";
  status->requests = counts_.requests;
  status->answered = counts_.answered;
  status->empty = counts_.empty;
  status->cancelled = counts_.cancelled;
  status->superseded = counts_.superseded;
  status->in_flight = pending_.size();
}

}  // namespace foretoken::lsp

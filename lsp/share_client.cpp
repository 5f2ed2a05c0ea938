#include "lsp/share_client.h"

#include <limits>
#include <utility>
#include <variant>

namespace foretoken::lsp {
namespace {

/// The owner's answers are always read: what waits here is our own, and it ends with our patience.
constexpr size_t kNever = std::numeric_limits<size_t>::max();
constexpr OutboxLimits kOutbox{.drop_above = kNever, .stop_above = kNever, .resume_below = kNever};

}  // namespace

ShareClient::ShareClient(Fd socket, std::shared_ptr<Loop> loop, share::Hello hello,
                         SharePatience patience, Handlers handlers)
    : loop_(std::move(loop)),
      hello_(std::move(hello)),
      patience_(patience),
      handlers_(std::move(handlers)),
      connection_(std::make_unique<ShareConnection>(
          std::move(socket), loop_,
          ShareConnection::Handlers{
              [this](share::Message message) { receive(std::move(message)); },
              [this](const std::string& fault) {
                end(fault.empty() ? "" : owner_ + " says what it may not: " + fault);
              }},
          kOutbox)) {
  hello_timer_ = loop_->after(patience_.hello, [this] { end(owner_ + " does not answer"); });
  connection_->send(hello_);
}

ShareClient::~ShareClient() {
  loop_->cancel(hello_timer_);
  loop_->cancel(look_timer_);
}

void ShareClient::send(share::Message message) {
  if (ended_) return;
  if (const auto* submit = std::get_if<share::Submit>(&message)) {
    open_.insert(submit->id);
    look_later();
  }
  connection_->send(std::move(message));
}

void ShareClient::receive(share::Message message) {
  if (ended_) return;
  silent_looks_ = 0;
  if (auto* refused = std::get_if<share::Refused>(&message)) {
    return end(owner_ + " sends us away: " + refused->why);
  }
  if (auto* hello = std::get_if<share::Hello>(&message)) {
    loop_->cancel(hello_timer_);
    greeted_ = true;
    owner_ = "process " + std::to_string(hello->pid) + ", which owns the engine,";
    if (hello->protocol != hello_.protocol || hello->version != hello_.version) {
      return end(owner_ + " is version " + hello->version + ", this one " + hello_.version);
    }
    return look_later();  // until it is ready
  }
  if (!greeted_) return end(owner_ + " does not greet");
  if (auto* ready = std::get_if<share::Ready>(&message)) {
    if (std::exchange(ready_, true)) return end(owner_ + " says twice that it is ready");
    const auto handler = handlers_.ready;
    return handler(std::move(*ready));
  }
  if (auto* answer = std::get_if<share::Answer>(&message)) {
    if (open_.erase(answer->id) == 0) return;
    const auto handler = handlers_.answer;
    return handler(std::move(*answer));
  }
  if (auto* status = std::get_if<share::Status>(&message)) {
    const auto handler = handlers_.status;
    return handler(std::move(*status));
  }
  if (!std::holds_alternative<share::Pong>(message)) end(owner_ + " says what only others say");
}

void ShareClient::end(std::string why) {
  if (std::exchange(ended_, true)) return;
  loop_->cancel(hello_timer_);
  loop_->cancel(look_timer_);
  if (why.empty()) {
    const auto handler = handlers_.gone;
    return handler();
  }
  const auto handler = handlers_.useless;
  handler(std::move(why));
}

/// Only while something is waited for: an idle editor sends nothing. Looks are counted and not the
/// time between them, so that a machine that slept blames nobody.
void ShareClient::look_later() {
  if (look_timer_ != 0 || ended_) return;
  look_timer_ = loop_->after(patience_.ping, [this] {
    look_timer_ = 0;
    look();
  });
}

void ShareClient::look() {
  if (ready_ && open_.empty()) {
    silent_looks_ = 0;
    return;
  }
  if (silent_looks_ >= patience_.pings) return end(owner_ + " does not answer");
  ++silent_looks_;
  connection_->send(share::Ping{});
  look_later();
}

}  // namespace foretoken::lsp

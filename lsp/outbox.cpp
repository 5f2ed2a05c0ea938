#include "lsp/outbox.h"

#include <utility>

namespace foretoken::lsp {

/// Strings plus what deque, map and allocator add, measured generously.
size_t Outbox::cost(const Outgoing& message) {
  return message.body.size() + message.small.size() + 2 * message.topic.size() + sizeof(Entry) +
         128;
}

void Outbox::push(Outgoing message) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  if (message.droppable && bytes_ > limits_.drop_above) {
    ++dropped_;
    return;
  }
  const uint64_t number = next_number_++;
  if (!message.topic.empty()) {
    const auto [found, fresh] = newest_.try_emplace(message.topic, number);
    if (!fresh) {
      Outgoing& old = waiting_[found->second - waiting_.front().number].message;
      bytes_ -= cost(old);
      old = Outgoing{std::move(old.small), old.droppable, {}, {}};
      bytes_ += cost(old);
      ++shrunk_;
      found->second = number;
    }
  }
  bytes_ += cost(message);
  if (bytes_ > limits_.stop_above) full_ = true;
  waiting_.push_back({std::move(message), number});
  filled_.notify_one();
}

std::optional<std::string> Outbox::take() {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
  if (waiting_.empty()) return std::nullopt;
  Outgoing message = std::move(waiting_.front().message);
  const uint64_t number = waiting_.front().number;
  waiting_.pop_front();
  bytes_ -= cost(message);
  if (!message.topic.empty()) {
    const auto found = newest_.find(message.topic);
    if (found != newest_.end() && found->second == number) newest_.erase(found);
  }
  if (full_ && bytes_ < limits_.resume_below) {
    full_ = false;
    emptied_.notify_all();
  }
  return std::move(message.body);
}

bool Outbox::wait_for_room() {
  std::unique_lock lock(mutex_);
  emptied_.wait(lock, [&] { return closed_ || !full_; });
  return !closed_;
}

void Outbox::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  filled_.notify_all();
  emptied_.notify_all();
}

void Outbox::discard() {
  std::lock_guard lock(mutex_);
  waiting_.clear();
  newest_.clear();
  bytes_ = 0;
}

size_t Outbox::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

size_t Outbox::dropped() const {
  std::lock_guard lock(mutex_);
  return dropped_;
}

size_t Outbox::shrunk() const {
  std::lock_guard lock(mutex_);
  return shrunk_;
}

}  // namespace foretoken::lsp

#include "lsp/loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <utility>

namespace foretoken::lsp {
namespace {

namespace asio = boost::asio;

/// Thread-safe: post, stop. Front thread: the rest.
class AsioLoop final : public RunningLoop {
 public:
  AsioLoop() : work_(asio::make_work_guard(context_)) {}

  void post(Work work) override { asio::post(context_, std::move(work)); }

  TimerId after(std::chrono::milliseconds delay, Work work) override {
    const TimerId id = ++last_timer_;
    auto& timer = timers_.emplace(id, asio::steady_timer(context_, delay)).first->second;
    timer.async_wait([this, id, work = std::move(work)](const boost::system::error_code& error) {
      if (error || timers_.erase(id) == 0) return;
      work();
    });
    return id;
  }

  void cancel(TimerId timer) override { timers_.erase(timer); }

  void run() override { context_.run(); }
  void stop() override { context_.stop(); }

 private:
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::map<TimerId, asio::steady_timer> timers_;
  TimerId last_timer_ = 0;
};

}  // namespace

std::shared_ptr<RunningLoop> make_loop() {
  return std::make_shared<AsioLoop>();
}

}  // namespace foretoken::lsp

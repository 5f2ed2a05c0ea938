// Several processes' worth of shared engines in one process, each with a fake engine to load.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lsp/shared_engine.h"
#include "tests/support/fake_engine.h"
#include "tests/support/temp_folder.h"

namespace foretoken::lsp {

inline engine::Request a_request(const std::string& text, const std::string& document = "a") {
  engine::Request request;
  request.document = document;
  request.text = std::make_shared<std::string>(text);
  return request;
}

/// An answer that comes some time, and whether it came once. Thread-safe.
class Answered {
 public:
  EngineLink::Done done() {
    return [this](engine::Completion completion) {
      if (++count_ == 1) promise_.set_value(std::move(completion));
    };
  }
  engine::Completion get() {
    if (future_.wait_for(std::chrono::seconds(60)) != std::future_status::ready) return {.error = "no answer"};
    return future_.get();
  }
  int count() const { return count_; }

 private:
  std::atomic<int> count_ = 0;
  std::promise<engine::Completion> promise_;
  std::future<engine::Completion> future_ = promise_.get_future();
};

class SharedEngineTest : public testing::Test {
 protected:
  /// One process: what it would load, and what it said.
  struct Process {
    std::shared_ptr<FakeEngine> fake;
    std::vector<std::string> said;
    std::atomic<int> loads = 0;
    std::mutex mutex;
    std::unique_ptr<SharedEngine> engine;  // last: ends first

    std::vector<std::string> lines() {
      const std::lock_guard lock(mutex);
      return said;
    }
    void wait() { engine->wait({}); }
    std::string ask(const std::string& text) {
      Answered answer;
      engine->submit(a_request(text), answer.done());
      const engine::Completion completion = answer.get();
      return completion.error.empty() ? completion.text : completion.error;
    }
  };

  Sharing sharing() {
    return {.folder = temp_ / "run", .key = "k", .version = "1", .name = "test", .user = ::geteuid()};
  }
  std::unique_ptr<Process> start(const std::string& name, bool gate_closed = false) {
    return start(name, gate_closed, sharing());
  }
  std::unique_ptr<Process> start(const std::string& name, bool gate_closed, Sharing sharing) {
    auto process = std::make_unique<Process>();
    process->fake = std::make_shared<FakeEngine>(name, gate_closed);
    process->engine = std::make_unique<SharedEngine>(
        std::move(sharing),
        [process = process.get()]() -> std::shared_ptr<EngineLink> {
          ++process->loads;
          return process->fake;
        },
        [process = process.get()](const std::string& line) {
          const std::lock_guard lock(process->mutex);
          process->said.push_back(line);
        });
    return process;
  }

  const test::TempFolder temp_;
};

}  // namespace foretoken::lsp

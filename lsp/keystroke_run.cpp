#include "lsp/keystroke_run.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace foretoken::lsp {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

/// Answers as they come from the engine's thread. Thread-safe.
class Answers {
 public:
  explicit Answers(size_t keys) : records_(keys) {}

  void sent() {
    const std::lock_guard lock(mutex_);
    ++open_;
  }
  void came(size_t key, Clock::time_point intended, const CompletionAnswer& answer) {
    const double ms = Milliseconds(Clock::now() - intended).count();
    const std::lock_guard lock(mutex_);
    KeyRecord& record = records_[key];
    record.error = answer.error;
    record.superseded = answer.error.empty() && answer.finish == engine::Finish::cancelled;
    record.latency_ms = ms;
    record.source = answer.source;
    record.timings = answer.timings;
    record.has_text = !answer.text.empty();
    // What came after the first token came after it on the engine's side too.
    if (answer.timings.ttft_ms > 0) {
      record.ttft_ms = ms - (answer.timings.total_ms - answer.timings.ttft_ms);
    }
    --open_;
    changed_.notify_all();
  }
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ == 0; });
  }
  std::vector<KeyRecord> take() { return std::move(records_); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t open_ = 0;
  std::vector<KeyRecord> records_;
};

}  // namespace

std::vector<KeyRecord> play(Completer& completer, const TypingScript& script,
                            const std::vector<TypedDocument>& documents, Phase phase, Pace pace) {
  const size_t openings = script.texts.size();
  const auto answers = std::make_shared<Answers>(openings + script.keys.size());
  std::vector<std::string> texts = script.texts;
  int64_t version = 0;
  const auto ask = [&](size_t record, size_t document, size_t cursor, Clock::time_point intended) {
    CompletionQuery query;
    query.document = std::make_shared<Snapshot>(documents[document].uri, "", ++version, texts[document]);
    query.cursor = cursor;
    query.path = documents[document].path;
    answers->sent();
    completer.start(std::move(query), [answers, record, intended](const CompletionAnswer& answer) {
      answers->came(record, intended, answer);
    });
  };

  for (size_t i = 0; i < openings; ++i) {
    ask(i, i, script.cursors[i], Clock::now());
    answers->wait_for_all();
  }
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < script.keys.size(); ++i) {
    const Key& key = script.keys[i];
    Clock::time_point intended = start + std::chrono::duration_cast<Clock::duration>(Milliseconds(key.at_ms));
    if (pace == Pace::real) {
      std::this_thread::sleep_until(intended);
    } else {
      intended = Clock::now();
    }
    texts[key.document].replace(key.start, key.erased, key.inserted);
    ask(openings + i, key.document, key.cursor, intended);
    if (pace == Pace::fast) answers->wait_for_all();
  }
  answers->wait_for_all();

  std::vector<KeyRecord> records = answers->take();
  records.erase(records.begin(), records.begin() + std::ptrdiff_t(openings));
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].phase = phase;
    records[i].kind = script.keys[i].kind;
  }
  return records;
}

}  // namespace foretoken::lsp

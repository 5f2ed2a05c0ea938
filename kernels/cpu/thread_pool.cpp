#include "kernels/cpu/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>

namespace foretoken::kernels {
namespace {

using namespace std::chrono_literals;

constexpr int kPieceBits = 20;
constexpr uint64_t kPieceMask = (uint64_t{1} << kPieceBits) - 1;

uint32_t next_piece(uint64_t ticket) {
  return uint32_t(ticket & kPieceMask);
}
uint32_t piece_count(uint64_t ticket) {
  return uint32_t((ticket >> kPieceBits) & kPieceMask);
}
bool has_work(uint64_t ticket) {
  return next_piece(ticket) < piece_count(ticket);
}

// How long to spin before sleeping. A sleep and a wake-up cost some 10 to 50 microseconds.
constexpr auto kSpin = 40us;
// A worker's piece may be some times longer than the caller's pieces were; beyond that and this it
// has lost its core. Time slices are milliseconds.
constexpr auto kStall = 500us;
constexpr int kStallPieces = 4;
// How long a team that shrank stays small, at first and at most, and how long one that grew must
// hold before it grows again.
constexpr auto kFirstBackoff = 8ms, kLastBackoff = 128ms, kProbation = 8ms;
// So long without a stall, and the next one counts as a first.
constexpr auto kCalm = 1s;

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr,
          nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr,
          0);
}

// True as soon as `ready()`; false after kSpin.
template <class Ready>
bool spin(Ready&& ready) {
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return true;
      _mm_pause();
    }
  } while (std::chrono::steady_clock::now() - begin < kSpin);
  return ready();
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  if (threads <= 0) threads = int(std::thread::hardware_concurrency());
  threads = std::clamp(threads, 1, kMaxThreads);
  team_ = threads;
  for (int t = 1; t < threads; ++t) workers_.push_back(std::make_unique<Worker>());
  for (int t = 1; t < threads; ++t) {
    workers_[size_t(t - 1)]->thread = std::thread([this, t] { work(t); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  for (const auto& w : workers_) {
    if (w->alarm.exchange(0)) futex_wake(w->alarm);
  }
  for (const auto& w : workers_) w->thread.join();
}

void ThreadPool::run(int pieces, Function function, void* context) {
  assert(pieces <= kMaxPieces);
  const std::lock_guard turn(turn_);
  const auto begin = Clock::now();
  if (team_ < threads()) grow(begin);
  if (pieces <= 1 || team_ == 1) {
    for (int p = 0; p < pieces; ++p) function(context, p, 0);
    return;
  }
  function_ = function;
  context_ = context;
  done_.store(0, std::memory_order_relaxed);
  epoch_ = (epoch_ + 1) & 0xffffff;
  ticket_.store(epoch_ << (2 * kPieceBits) | uint64_t(pieces) << kPieceBits);
  for (int t = 1; t < std::min(team_.load(), pieces); ++t) {
    std::atomic<uint32_t>& alarm = workers_[size_t(t - 1)]->alarm;
    if (alarm.load() && alarm.exchange(0)) futex_wake(alarm);
  }
  uint32_t own = 0;
  for (;;) {
    const uint32_t piece = next_piece(ticket_.fetch_add(1, std::memory_order_acq_rel));
    if (piece >= uint32_t(pieces)) break;
    function(context, int(piece), 0);
    ++own;
  }
  wait_for_workers(uint32_t(pieces) - own, begin, own);
}

void ThreadPool::wait_for_workers(uint32_t pieces, Clock::time_point begin, uint32_t own) {
  const auto finished = [&] { return done_.load(std::memory_order_acquire) == pieces; };
  if (finished()) return;
  const auto drained = Clock::now();
  if (spin(finished)) return;
  caller_sleeps_.store(true);
  for (uint32_t seen = done_.load(); seen != pieces; seen = done_.load()) futex_wait(done_, seen);
  caller_sleeps_.store(false, std::memory_order_relaxed);
  const auto now = Clock::now();
  if (now - drained > kStall + kStallPieces * (drained - begin) / std::max(own, 1u)) shrink(now);
}

void ThreadPool::grow(Clock::time_point now) {
  if (now < hold_until_) return;
  ++team_;
  hold_until_ = now + kProbation;
}

void ThreadPool::shrink(Clock::time_point now) {
  if (now - last_stall_ > kCalm) backoff_ = {};
  backoff_ = std::clamp<Clock::duration>(2 * backoff_, kFirstBackoff, kLastBackoff);
  team_ = std::max(1, team_ - std::max(1, team_ / 4));
  last_stall_ = now;
  hold_until_ = now + backoff_;
}

void ThreadPool::work(int thread) {
  while (!stop_.load(std::memory_order_relaxed)) {
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    if (!has_work(ticket) || thread >= team_) {
      wait_for_work(thread);
      continue;
    }
    // The region may have changed since the load; the claim is then one of the new region.
    ticket = ticket_.fetch_add(1, std::memory_order_acq_rel);
    if (!has_work(ticket)) continue;
    function_(context_, int(next_piece(ticket)), thread);
    done_.fetch_add(1);
    if (caller_sleeps_.load()) futex_wake(done_);
  }
}

void ThreadPool::wait_for_work(int thread) {
  std::atomic<uint32_t>& alarm = workers_[size_t(thread - 1)]->alarm;
  const auto called = [&] { return stop_ || (has_work(ticket_) && thread < team_); };
  if (spin(called)) return;
  // Either the caller sees the alarm set and clears it, or the region it published is seen here.
  alarm.store(1);
  if (!called()) {
    while (alarm.load()) futex_wait(alarm, 1);
  }
  alarm.store(0);
}

}  // namespace foretoken::kernels

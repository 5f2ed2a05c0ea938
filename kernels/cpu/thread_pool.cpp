#include "kernels/cpu/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <chrono>

namespace foretoken::kernels {
namespace {

constexpr int kPieceBits = 20;
constexpr uint64_t kPieceMask = (uint64_t{1} << kPieceBits) - 1;

uint32_t next_piece(uint64_t ticket) { return uint32_t(ticket & kPieceMask); }
uint32_t piece_count(uint64_t ticket) { return uint32_t((ticket >> kPieceBits) & kPieceMask); }
bool has_work(uint64_t ticket) { return next_piece(ticket) < piece_count(ticket); }

// How long to spin before sleeping. A sleep and a wake-up cost some 10 to 50 microseconds.
constexpr std::chrono::microseconds kSpin{40};

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr,
          nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word, int threads) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, threads, nullptr,
          nullptr, 0);
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
  for (int t = 1; t < threads; ++t) workers_.emplace_back([this, t] { work(t); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  alarm_.fetch_add(1);
  futex_wake(alarm_, kMaxThreads);
  for (std::thread& t : workers_) t.join();
}

void ThreadPool::run(int pieces, Function function, void* context) {
  assert(pieces <= kMaxPieces);
  if (pieces <= 0) return;
  if (pieces == 1 || workers_.empty()) {
    for (int p = 0; p < pieces; ++p) function(context, p, 0);
    return;
  }
  function_ = function;
  context_ = context;
  done_.store(0, std::memory_order_relaxed);
  epoch_ = (epoch_ + 1) & 0xffffff;
  ticket_.store(epoch_ << (2 * kPieceBits) | uint64_t(pieces) << kPieceBits);
  if (sleepers_.load() > 0) {
    alarm_.fetch_add(1);
    futex_wake(alarm_, std::min(pieces - 1, int(workers_.size())));
  }
  uint32_t own = 0;
  for (;;) {
    const uint32_t piece = next_piece(ticket_.fetch_add(1, std::memory_order_acq_rel));
    if (piece >= uint32_t(pieces)) break;
    function(context, int(piece), 0);
    ++own;
  }
  wait_for_workers(uint32_t(pieces) - own);
}

void ThreadPool::wait_for_workers(uint32_t pieces) {
  const auto finished = [&] { return done_.load(std::memory_order_acquire) == pieces; };
  if (finished() || spin(finished)) return;
  caller_sleeps_.store(true);
  for (uint32_t seen = done_.load(); seen != pieces; seen = done_.load()) futex_wait(done_, seen);
  caller_sleeps_.store(false, std::memory_order_relaxed);
}

void ThreadPool::work(int thread) {
  while (!stop_.load(std::memory_order_relaxed)) {
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    if (!has_work(ticket)) {
      wait_for_work();
      continue;
    }
    // The region may have changed since the load; the claim is then one of the new region.
    ticket = ticket_.fetch_add(1, std::memory_order_acq_rel);
    if (!has_work(ticket)) continue;
    function_(context_, int(next_piece(ticket)), thread);
    done_.fetch_add(1);
    if (caller_sleeps_.load()) futex_wake(done_, 1);
  }
}

void ThreadPool::wait_for_work() {
  const auto called = [&] {
    return has_work(ticket_.load(std::memory_order_acquire)) ||
           stop_.load(std::memory_order_relaxed);
  };
  if (spin(called)) return;
  sleepers_.fetch_add(1);
  const uint32_t seen = alarm_.load();
  if (!has_work(ticket_.load()) && !stop_.load()) futex_wait(alarm_, seen);
  sleepers_.fetch_sub(1);
}

}  // namespace foretoken::kernels

// Threads that share the pieces of one parallel region after another, on a machine that is not ours
// alone: editors, compilers and language servers run on the same cores.
//
//  * The caller takes part and can finish a region alone. Pieces are claimed one by one, and a
//    worker that has not arrived (asleep, or its core taken by another program) is not waited for.
//    Only a piece that a worker has begun is.
//  * Waiting spins for some microseconds and then sleeps in the kernel: a thread that spins on a
//    busy machine burns the time slice that the thread it waits for needs.
//  * A wait much longer than a piece means that a worker lost its core in the middle of one; the
//    caller then stands still for a time slice or two. After such a stall the team shrinks (two
//    threads: the caller alone) for a while, and grows again step by step. Alone beside two
//    spinning programs on two cores a thread still gets half to two thirds of a core.
//
// Which thread computes a piece never changes a result: pieces write to disjoint outputs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace foretoken::kernels {

/// Thread-safe: callers take turns.
class ThreadPool {
 public:
  static constexpr int kMaxPieces = (1 << 20) - 1024;
  static constexpr int kMaxThreads = 512;

  /// Starts `threads` - 1 workers; 0 takes one thread per core.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return int(workers_.size()) + 1; }
  /// How many of them share the next region.
  int team() const { return team_; }

  /// Calls f(piece, thread) for every piece in [0, pieces), thread in [0, threads()); returns when
  /// all are done. f must not throw.
  template <class F>
  void parallel_for(int pieces, F&& f) {
    run(
        pieces,
        [](void* context, int piece, int thread) {
          (*static_cast<std::remove_reference_t<F>*>(context))(piece, thread);
        },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Function = void (*)(void* context, int piece, int thread);

  struct alignas(64) Worker {
    std::thread thread;
    std::atomic<uint32_t> alarm{0};  // a futex: 1 while the worker sleeps, 0 otherwise
  };

  void run(int pieces, Function function, void* context);
  void work(int thread);
  void wait_for_work(int thread);
  void wait_for_workers(uint32_t pieces, Clock::time_point begin, uint32_t own);
  void grow(Clock::time_point now);
  void shrink(Clock::time_point now);

  // The current region in one word, so that a claim is one fetch_add and can never mix two regions:
  // epoch (24 bits), number of pieces (20 bits), next piece (20 bits).
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<uint32_t> done_{0};  // pieces the workers have finished; a futex
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<bool> stop_{false};
  std::atomic<int> team_{1};

  // Written before ticket_ is published, read after a piece was claimed.
  alignas(64) Function function_ = nullptr;
  void* context_ = nullptr;

  // The caller's own.
  std::mutex turn_;
  uint64_t epoch_ = 0;
  Clock::time_point hold_until_{}, last_stall_{};
  Clock::duration backoff_{};
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace foretoken::kernels

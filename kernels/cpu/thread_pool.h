// Threads that share the pieces of one parallel region after another.
//
// The caller always takes part and can finish a region alone: pieces are claimed one by one, and a
// worker that has not arrived (asleep, or its core taken by another program) is simply not waited
// for. Only a piece that a worker has begun is. Waiting spins for a few microseconds and then
// sleeps in the kernel, because editors and compilers share these cores: a thread that spins on a
// busy machine burns the time slice that the thread it waits for needs.
//
// Which thread computes a piece never changes a result: pieces write to disjoint outputs.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace foretoken::kernels {

/// One caller at a time (engine thread).
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

  /// Calls f(piece, thread) for every piece in [0, pieces), thread in [0, threads()); returns when
  /// all are done. f must not throw.
  template <class F>
  void parallel_for(int pieces, F&& f) {
    run(pieces, [](void* context, int piece, int thread) {
      (*static_cast<std::remove_reference_t<F>*>(context))(piece, thread);
    }, const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  using Function = void (*)(void* context, int piece, int thread);

  void run(int pieces, Function function, void* context);
  void work(int thread);
  void wait_for_work();
  void wait_for_workers(uint32_t pieces);

  // The current region in one word, so that a claim is one fetch_add and can never mix two regions:
  // epoch (24 bits), number of pieces (20 bits), next piece (20 bits).
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<uint32_t> done_{0};  // pieces the workers have finished; a futex
  alignas(64) std::atomic<uint32_t> alarm_{0};  // counts wake-ups of sleeping workers; a futex
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<bool> stop_{false};

  // Written before ticket_ is published, read after a piece was claimed.
  alignas(64) Function function_ = nullptr;
  void* context_ = nullptr;
  uint64_t epoch_ = 0;
  std::vector<std::thread> workers_;
};

}  // namespace foretoken::kernels

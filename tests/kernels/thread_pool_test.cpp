#include "kernels/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace foretoken::kernels {
namespace {

TEST(ThreadPool, EveryPieceOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int pieces = 0; pieces < 300; pieces += 7) {
      std::vector<int> runs(size_t(pieces), 0);
      pool.parallel_for(pieces, [&](int piece, int thread) {
        ASSERT_LT(thread, threads);
        ++runs[size_t(piece)];
      });
      EXPECT_EQ(runs, std::vector<int>(size_t(pieces), 1));
    }
  }
}

// Region after region with no pause: a late worker must never run a piece of another region.
TEST(ThreadPool, RegionsDoNotMix) {
  ThreadPool pool(4);
  std::vector<int> values(64);
  for (int round = 0; round < 20000; ++round) {
    const int pieces = 1 + round % 64;
    pool.parallel_for(pieces, [&](int piece, int) { values[size_t(piece)] = round + piece; });
    for (int i = 0; i < pieces; ++i) ASSERT_EQ(values[size_t(i)], round + i);
  }
}

TEST(ThreadPool, WakesSleepingWorkers) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    int sum[50] = {};
    pool.parallel_for(50, [&](int piece, int) { sum[piece] = piece; });
    EXPECT_EQ(std::accumulate(sum, sum + 50, 0), 49 * 50 / 2);
  }
}

}  // namespace
}  // namespace foretoken::kernels

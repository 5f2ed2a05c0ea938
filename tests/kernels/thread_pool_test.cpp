#include "kernels/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>
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

// A worker that stands still in the middle of a piece, as if its core had been taken.
TEST(ThreadPool, TheTeamShrinksAfterAStallAndGrowsAgain) {
  using namespace std::chrono_literals;
  ThreadPool pool(2);
  for (int round = 0; round < 200 && pool.team() == 2; ++round) {
    pool.parallel_for(2, [](int, int thread) { std::this_thread::sleep_for(thread ? 30ms : 1ms); });
  }
  ASSERT_EQ(pool.team(), 1);
  int workers = 0;
  pool.parallel_for(100, [&](int, int thread) { workers += thread != 0; });
  EXPECT_EQ(workers, 0);
  for (int round = 0; round < 500 && pool.team() == 1; ++round) {
    std::this_thread::sleep_for(1ms);
    pool.parallel_for(1, [](int, int) {});
  }
  EXPECT_EQ(pool.team(), 2);
}

// More threads than cores, teams that change while regions run.
TEST(ThreadPool, StallsDoNotLosePieces) {
  ThreadPool pool(6);
  for (int round = 0; round < 100; ++round) {
    std::vector<int> runs(20, 0);
    pool.parallel_for(20, [&](int piece, int thread) {
      const bool stalls = thread > 0 && (round + piece) % 40 == 0;
      std::this_thread::sleep_for(std::chrono::microseconds(stalls ? 2000 : 20));
      ++runs[size_t(piece)];
    });
    ASSERT_EQ(runs, std::vector<int>(20, 1));
  }
}

}  // namespace
}  // namespace foretoken::kernels

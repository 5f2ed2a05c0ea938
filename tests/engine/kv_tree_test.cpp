// The tree of cached prefixes against a dull model: a list of everything that was ever computed.
#include "engine/kv_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "kernels/backend.h"

namespace foretoken::engine {
namespace {

struct World {
  std::unique_ptr<kernels::Backend> backend = kernels::make_backend("reference", 1);
  std::unique_ptr<kernels::Stream> stream = backend->make_stream();
  std::unique_ptr<kernels::KvPool> pool;
  KvTree tree;
  explicit World(int pages) : pool(backend->make_kv({1, 1, 2, pages})), tree(*stream, *pool, pages) {}

  /// Computes `ids`, reusing what is there; returns how many were reused.
  int compute(const std::vector<TokenId>& ids) {
    auto s = tree.acquire(ids, static_cast<int>(ids.size()), true);
    const int reused = s.length();
    const std::span<const TokenId> rest = std::span(ids).subspan(size_t(reused));
    if (tree.reserve(s, static_cast<int>(rest.size()))) tree.append(s, rest);
    tree.release(std::move(s));
    return reused;
  }
};

std::vector<TokenId> run(int from, int count) {
  std::vector<TokenId> ids;
  for (int i = 0; i < count; ++i) ids.push_back(from + i);
  return ids;
}

TEST(KvTree, ReusesTheLongestPrefix) {
  World w(16);
  auto ids = run(0, 200);
  EXPECT_EQ(w.compute(ids), 0);
  EXPECT_EQ(w.compute(ids), 200);
  ids[150] = 9999;  // diverges in the middle of the third page
  EXPECT_EQ(w.compute(ids), 150);
  EXPECT_EQ(w.compute(run(0, 64)), 64);
  EXPECT_EQ(w.compute(run(1, 64)), 0);
}

TEST(KvTree, KeepsTwoBuffersAsTwoBranches) {
  World w(16);
  auto a = run(0, 180), b = run(0, 100);
  for (int i = 0; i < 80; ++i) b.push_back(5000 + i);
  w.compute(a);
  w.compute(b);
  for (int i = 0; i < 5; ++i) {
    a.push_back(1000 + i);
    b.push_back(2000 + i);
    EXPECT_EQ(w.compute(a), 180 + i);
    EXPECT_EQ(w.compute(b), 180 + i);
  }
}

TEST(KvTree, EvictsLeavesLeastRecentlyUsedFirst) {
  World w(6);
  w.compute(run(0, 128));       // 2 pages
  w.compute(run(1000, 128));    // 2 pages
  w.compute(run(0, 128));       // touched again
  w.compute(run(2000, 192));    // 3 pages: the second prompt has to go
  EXPECT_EQ(w.compute(run(0, 128)), 128);
  EXPECT_EQ(w.compute(run(1000, 64)), 0);  // the whole segment
}

TEST(KvTree, RefusesWhatDoesNotFitAndStaysWhole) {
  World w(4);
  auto s = w.tree.acquire({}, 0, true);
  EXPECT_FALSE(w.tree.reserve(s, 64 * 5));
  EXPECT_EQ(w.tree.free_pages(), 4);
  EXPECT_TRUE(w.tree.reserve(s, 64 * 4));
  w.tree.release(std::move(s));
  EXPECT_EQ(w.tree.free_pages(), 4);
}

TEST(KvTree, LeavesNothingBehindWithoutReuse) {
  World w(4);
  const auto ids = run(0, 100);
  auto s = w.tree.acquire(ids, 100, false);
  ASSERT_TRUE(w.tree.reserve(s, 100));
  w.tree.append(s, ids);
  w.tree.release(std::move(s));
  EXPECT_EQ(w.tree.free_pages(), 4);
  EXPECT_EQ(w.compute(ids), 0);
}

TEST(KvTree, NeverSharesAPageBetweenHoldersThatWrite) {
  World w(8);
  w.compute(run(0, 40));
  const auto ids = run(0, 40);
  auto a = w.tree.acquire(ids, 40, true), b = w.tree.acquire(ids, 40, true);
  ASSERT_TRUE(w.tree.reserve(a, 10));
  ASSERT_TRUE(w.tree.reserve(b, 10));
  EXPECT_NE(a.pages()[0], b.pages()[0]);
  w.tree.append(a, run(100, 10));
  w.tree.append(b, run(200, 10));
  w.tree.release(std::move(a));
  w.tree.release(std::move(b));
  auto first = run(0, 40), second = run(0, 40);
  for (int i = 0; i < 10; ++i) first.push_back(100 + i), second.push_back(200 + i);
  EXPECT_EQ(w.compute(first), 50);
  EXPECT_EQ(w.compute(second), 50);
}

TEST(KvTree, HoldsAgainstADullModelUnderRandomUse) {
  std::mt19937 random(11);
  World w(24);
  std::vector<std::vector<TokenId>> computed;
  for (int i = 0; i < 3000; ++i) {
    std::vector<TokenId> ids;
    if (!computed.empty() && random() % 4) {
      const auto& old = computed[random() % computed.size()];
      ids.assign(old.begin(), old.begin() + ptrdiff_t(random() % (old.size() + 1)));
    }
    for (size_t n = random() % 100; n > 0 && ids.size() < 600; --n) {
      ids.push_back(static_cast<TokenId>(random() % 3));  // few tokens: many shared beginnings
    }
    // Never more than what was really computed once with this very beginning.
    size_t most = 0;
    for (const auto& old : computed) {
      const auto [x, y] = std::mismatch(ids.begin(), ids.end(), old.begin(), old.end());
      most = std::max(most, size_t(x - ids.begin()));
    }
    const int reused = w.compute(ids);
    ASSERT_LE(size_t(reused), most) << "round " << i;
    // What was computed last is all there.
    ASSERT_EQ(w.compute(ids), static_cast<int>(ids.size())) << "round " << i;
    computed.push_back(ids);
    if (computed.size() > 200) computed.erase(computed.begin());
    ASSERT_GE(w.tree.free_pages(), 0);
  }
  w.tree.clear();
  EXPECT_EQ(w.tree.free_pages(), 24);
}

/// Several holders at once, each with its own idea of what comes next: nobody's tokens are ever
/// changed by another. The pool's "keys and values" are checked through the tree itself: what a
/// holder has appended is found again under exactly its tokens.
TEST(KvTree, HoldersAtTheSameTimeDoNotDisturbEachOther) {
  std::mt19937 random(5);
  for (int game = 0; game < 200; ++game) {
    World w(40);
    struct Holder {
      KvTree::Sequence sequence;
      std::vector<TokenId> ids;
      bool shared;
    };
    std::vector<Holder> holders;
    const auto grow = [&](Holder& h) {
      const int more = 1 + static_cast<int>(random() % 150);
      if (!w.tree.reserve(h.sequence, more)) return;
      std::vector<TokenId> ids;
      for (int i = 0; i < more; ++i) ids.push_back(static_cast<TokenId>(random() % 2));
      w.tree.append(h.sequence, ids);
      h.ids.insert(h.ids.end(), ids.begin(), ids.end());
    };
    for (int step = 0; step < 40; ++step) {
      if (holders.size() < 4 && random() % 3 == 0) {
        Holder h;
        if (!holders.empty()) h.ids = holders[random() % holders.size()].ids;
        h.ids.resize(random() % (h.ids.size() + 1));
        h.shared = random() % 4 != 0;
        h.sequence = w.tree.acquire(h.ids, static_cast<int>(h.ids.size()), h.shared);
        h.ids.resize(size_t(h.sequence.length()));
        holders.push_back(std::move(h));
      } else if (!holders.empty() && random() % 5 == 0) {
        const size_t i = random() % holders.size();
        w.tree.release(std::move(holders[i].sequence));
        holders.erase(holders.begin() + ptrdiff_t(i));
      } else if (!holders.empty()) {
        grow(holders[random() % holders.size()]);
      }
      std::set<std::pair<int32_t, size_t>> writable;  // page of each holder's open end
      for (const Holder& h : holders) {
        ASSERT_EQ(size_t(h.sequence.length()), h.ids.size());
        ASSERT_GE(h.sequence.pages().size() * 64, h.ids.size());
        std::set<int32_t> pages(h.sequence.pages().begin(), h.sequence.pages().end());
        ASSERT_EQ(pages.size(), h.sequence.pages().size()) << "a page twice in one sequence";
      }
    }
    for (Holder& h : holders) {
      const bool shared = h.shared;
      const auto ids = h.ids;
      w.tree.release(std::move(h.sequence));
      if (!shared) continue;
      auto again = w.tree.acquire(ids, static_cast<int>(ids.size()), true);
      EXPECT_EQ(size_t(again.length()), ids.size());
      w.tree.release(std::move(again));
    }
    w.tree.clear();
    ASSERT_EQ(w.tree.free_pages(), 40);
  }
}

TEST(KvTree, SplitsASegmentWhereTwoPromptsPart) {
  World w(40);
  const auto a = run(0, 600);  // a segment of eight pages and one of two
  auto b = run(0, 300);
  for (int i = 0; i < 200; ++i) b.push_back(9000 + i);
  w.compute(a);
  EXPECT_EQ(w.compute(b), 300);
  EXPECT_EQ(w.compute(a), 600);
  EXPECT_EQ(w.compute(b), 500);
  EXPECT_EQ(w.tree.free_pages(), 40 - 10 - 4);  // four whole pages are shared
}

}  // namespace
}  // namespace foretoken::engine

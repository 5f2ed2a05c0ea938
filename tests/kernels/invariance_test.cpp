// Bits, not bounds: a row's result never depends on its neighbours, on how a prompt was cut, on the
// number of threads, or on which SIMD instruction set computed it.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/kernel_rig.h"

namespace foretoken::kernels {
namespace {

std::vector<std::string> simd_names() {
  std::vector<std::string> v;
  for (const BackendEntry& b : backends()) {
    if (b.name != "reference") v.emplace_back(b.name);
  }
  return v;
}

class Bits : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const BackendEntry& b : backends()) {
      if (b.name == GetParam() && !b.runs_here()) {
        GTEST_SKIP() << "backend '" << b.name << "' needs " << b.needs << ": not on this machine";
      }
    }
    rig = std::make_unique<Rig>(make_backend(GetParam(), 2));
    one_thread = std::make_unique<Rig>(make_backend(GetParam(), 1));
    if (GetParam() != "avx2") avx2 = std::make_unique<Rig>(make_backend("avx2", 3));
  }

  std::vector<Rig*> others() {
    std::vector<Rig*> v = {one_thread.get()};
    if (avx2) v.push_back(avx2.get());
    return v;
  }

  std::unique_ptr<Rig> rig, one_thread, avx2;
};
INSTANTIATE_TEST_SUITE_P(Backends, Bits, testing::ValuesIn(simd_names()),
                         [](const auto& info) { return info.param; });

TEST_P(Bits, MatmulRowsAloneAndTogether) {
  for (const DTypeInfo& info : dtypes()) {
    SCOPED_TRACE(info.name);
    const int in = info.block == 256 ? 768 : 416, out = 150, rows = 40;
    const auto raw = random_rows(info.type, in, out, 3);
    const auto x = random_floats(size_t(rows * in), 4);
    const auto product = [&](Rig& r, const std::vector<int>& cuts) {
      const auto w = r.weight(info.type, in, out, raw);
      const Matrix mx = r.matrix(rows, in, x), y = r.matrix(rows, out);
      int first = 0;
      for (const int n : cuts) {
        r->matmul(mx.slice(first, n), *w, nullptr, false, y.slice(first, n));
        first += n;
      }
      EXPECT_EQ(first, rows);
      return r.values(y);
    };
    const auto whole = product(*rig, {rows});
    EXPECT_TRUE(same_bits(whole, product(*rig, std::vector<int>(rows, 1))));
    EXPECT_TRUE(same_bits(whole, product(*rig, {2, 3, 4, 5, 6, 7, 13})));
    for (Rig* other : others()) {
      EXPECT_TRUE(same_bits(whole, product(*other, {rows})));
      EXPECT_TRUE(same_bits(whole, product(*other, {1, 3, 36})));
    }
  }
}

TEST_P(Bits, AttentionHoweverThePromptWasCut) {
  for (const auto& [dim, kv_heads, group] :
       {std::array{64, 2, 7}, {80, 1, 4}, {128, 2, 3}, {6, 3, 1}}) {
    SCOPED_TRACE(testing::Message() << dim << " " << kv_heads << " " << group);
    const int total = 150, kv_cols = dim * kv_heads, cols = kv_cols * group;
    const auto k = random_floats(size_t(total * kv_cols), 1),
               v = random_floats(size_t(total * kv_cols), 2);
    const auto q = random_floats(size_t(total * cols), 3, 2);
    const auto run = [&](Rig& r, const std::vector<int>& cuts) {
      const auto pool = r.backend().make_kv({1, kv_heads, dim, 4});
      const std::vector<int32_t> pages = {2, 0, 3};
      const Matrix mq = r.matrix(total, cols, q), mk = r.matrix(total, kv_cols, k),
                   mv = r.matrix(total, kv_cols, v), y = r.matrix(total, cols);
      int first = 0;
      for (const int n : cuts) {
        r->kv_store(*pool, 0, pages, first, mk.slice(first, n), mv.slice(first, n));
        r->attention(*pool, 0, pages, first, mq.slice(first, n), 1 / std::sqrt(float(dim)),
                     y.slice(first, n));
        first += n;
      }
      EXPECT_EQ(first, total);
      return r.values(y);
    };
    const auto whole = run(*rig, {total});
    EXPECT_TRUE(same_bits(whole, run(*rig, std::vector<int>(total, 1))));
    EXPECT_TRUE(same_bits(whole, run(*rig, {63, 2, 64, 3, 18})));
    for (Rig* other : others()) EXPECT_TRUE(same_bits(whole, run(*other, {100, 50})));
  }
}

TEST_P(Bits, ElementwiseAndSelection) {
  const int rows = 40, cols = 1000;
  const auto x = random_floats(size_t(rows * cols), 1, 5),
             u = random_floats(size_t(rows * cols), 2);
  const auto run = [&](Rig& r, int step) {
    const Matrix mx = r.matrix(rows, cols, x), mu = r.matrix(rows, cols, u);
    const Matrix gain = r.matrix(1, cols, random_floats(size_t(cols), 3)), y = r.matrix(rows, cols);
    const Matrix c = r.matrix(rows, 50, random_floats(size_t(rows * 50), 5)),
                 s = r.matrix(rows, 50, random_floats(size_t(rows * 50), 6));
    for (int t = 0; t < rows; t += step) {
      r->rms_norm(mx.slice(t, step), gain, 1e-6f, y.slice(t, step));
      r->rope(y.slice(t, step), c.slice(t, step), s.slice(t, step), 100, 100, true);
      r->rope(y.slice(t, step), c.slice(t, step), s.slice(t, step), 200, 100, false);
      r->silu_mul(y.slice(t, step), mu.slice(t, step), y.slice(t, step));
    }
    std::vector<float> v = r.values(y);
    Selection selection;
    r->select(mx.slice(0, 1), {}, {}, 7, &selection);
    v.push_back(selection.logsumexp);
    return v;
  };
  const auto whole = run(*rig, rows);
  EXPECT_TRUE(same_bits(whole, run(*rig, 1)));
  for (Rig* other : others()) EXPECT_TRUE(same_bits(whole, run(*other, 8)));
}

}  // namespace
}  // namespace foretoken::kernels

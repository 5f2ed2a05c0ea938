// Every operation on every backend against `reference`, at odd sizes, with guards around outputs.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/kernel_rig.h"

namespace foretoken::kernels {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> v;
  for (const BackendEntry& b : backends()) v.emplace_back(b.name);
  return v;
}

class Ops : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const BackendEntry& b : backends()) {
      if (b.name == GetParam() && !b.runs_here()) {
        GTEST_SKIP() << "backend '" << b.name << "' needs " << b.needs << ": not on this machine";
      }
    }
    rig = std::make_unique<Rig>(make_backend(GetParam(), 2));
    judge = std::make_unique<Rig>(make_backend("reference", 1));
  }

  // f(rig) gives the output matrix; the two backends must agree within `bound`.
  template <class F>
  void compare(double bound, F&& f) {
    const Matrix got = f(*rig), expected = f(*judge);
    EXPECT_LE(error_of(rig->values(got), judge->values(expected)), bound);
    EXPECT_TRUE(rig->intact(got));
    EXPECT_TRUE(judge->intact(expected));
  }

  std::unique_ptr<Rig> rig, judge;
};
INSTANTIATE_TEST_SUITE_P(Backends, Ops, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

// x whose blocks are exact in 8 bits, so that quantised activations lose nothing.
std::vector<float> exact_activations(int rows, int cols, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> x(size_t(rows) * size_t(cols));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = float(int(random() % 255) - 127) / 64;
    if (i % 32 == 0) x[i] = 127.0f / 64;
  }
  return x;
}

TEST_P(Ops, MatmulEveryType) {
  for (const DTypeInfo& info : dtypes()) {
    for (const int blocks : {1, 3}) {
      for (const int out : {1, 16, 37, 80}) {
        for (const int rows : {1, 2, 3, 4, 5, 7, 13, 33}) {
          const int in = info.block == 1 ? 45 * blocks : info.block * blocks;
          SCOPED_TRACE(testing::Message()
                       << info.name << " in " << in << " out " << out << " rows " << rows);
          const auto w = random_rows(info.type, in, out, uint32_t(out + blocks));
          const auto x = exact_activations(rows, in, uint32_t(rows));
          const auto bias = random_floats(size_t(out), 5),
                     before = random_floats(size_t(out * rows), 6);
          compare(2e-5, [&](Rig& r) {
            const Matrix b = r.matrix(1, out, bias), y = r.matrix(rows, out, before);
            r->matmul(r.matrix(rows, in, x), *r.weight(info.type, in, out, w), &b, true, y);
            return y;
          });
        }
      }
    }
  }
}

TEST_P(Ops, MatmulQuantisesActivationsOnly) {
  const int in = 896, out = 48, rows = 9;
  const auto w = random_rows(DType::q8_0, in, out, 1);
  const auto x = random_floats(size_t(rows * in), 2);
  compare(0.03, [&](Rig& r) {
    const Matrix y = r.matrix(rows, out);
    r->matmul(r.matrix(rows, in, x), *r.weight(DType::q8_0, in, out, w), nullptr, false, y);
    return y;
  });
}

TEST_P(Ops, MatmulExtremeQuants) {
  // Q8_0 rows of -128 and activations of +-127: nothing may saturate.
  const int in = 64, out = 17;
  std::vector<std::byte> w(row_bytes(DType::q8_0, in) * out, std::byte(0x80));
  for (size_t i = 0; i < w.size(); i += 34) {
    w[i] = std::byte(0x00);
    w[i + 1] = std::byte(0x3c);
  }
  for (const float sign : {1.0f, -1.0f}) {
    const std::vector<float> x(in, sign);
    compare(1e-6, [&](Rig& r) {
      const Matrix y = r.matrix(1, out);
      r->matmul(r.matrix(1, in, x), *r.weight(DType::q8_0, in, out, w), nullptr, false, y);
      return y;
    });
  }
}

TEST_P(Ops, MatmulManyEqualsSingles) {
  const int in = 256, rows = 6;
  const auto x = random_floats(size_t(rows * in), 3);
  const auto a = random_rows(DType::q5_0, in, 70, 1), b = random_rows(DType::f16, in, 20, 2);
  const auto bias = random_floats(20, 4);
  const auto wa = rig->weight(DType::q5_0, in, 70, a), wb = rig->weight(DType::f16, in, 20, b);
  const Matrix mx = rig->matrix(rows, in, x), mb = rig->matrix(1, 20, bias);
  const Matrix a1 = rig->matrix(rows, 70), b1 = rig->matrix(rows, 20);
  const Matrix a2 = rig->matrix(rows, 70), b2 = rig->matrix(rows, 20);
  const Stream::Product products[] = {{wa.get(), nullptr, a1}, {wb.get(), &mb, b1}};
  (*rig)->matmul_many(mx, products);
  (*rig)->matmul(mx, *wa, nullptr, false, a2);
  (*rig)->matmul(mx, *wb, &mb, false, b2);
  EXPECT_TRUE(same_bits(rig->values(a1), rig->values(a2)));
  EXPECT_TRUE(same_bits(rig->values(b1), rig->values(b2)));
}

TEST_P(Ops, NotANumberSpreads) {
  std::vector<float> x(64, 1.0f);
  for (const float bad : {NAN, INFINITY}) {
    x[40] = bad;
    const Matrix y = rig->matrix(1, 5);
    (*rig)->matmul(rig->matrix(1, 64, x),
                   *rig->weight(DType::q4_0, 64, 5, random_rows(DType::q4_0, 64, 5, 1)), nullptr,
                   false, y);
    for (const float v : rig->values(y)) EXPECT_FALSE(std::isfinite(v));
  }
}

TEST_P(Ops, EmbedIsExact) {
  for (const DTypeInfo& info : dtypes()) {
    SCOPED_TRACE(info.name);
    const int in = info.block == 1 ? 33 : info.block * 2, out = 37;
    const auto rows = random_rows(info.type, in, out, 9);
    const std::vector<int32_t> ids = {0, 36, 5, 17, 5};
    for (const auto use : {WeightSource::Use::lookup, WeightSource::Use::both}) {
      const Matrix y = rig->matrix(int(ids.size()), in);
      (*rig)->embed(*rig->weight(info.type, in, out, rows, use), ids, y);
      std::vector<float> expected(ids.size() * size_t(in));
      const size_t row = row_bytes(info.type, size_t(in));
      for (size_t t = 0; t < ids.size(); ++t) {
        dequantize(info.type, std::span(rows).subspan(size_t(ids[t]) * row, row),
                   std::span(expected).subspan(t * size_t(in), size_t(in)));
      }
      EXPECT_TRUE(same_bits(rig->values(y), expected));
      EXPECT_TRUE(rig->intact(y));
    }
  }
}

TEST_P(Ops, RmsNorm) {
  for (const int cols : {1, 15, 16, 17, 64, 896}) {
    const auto x = random_floats(size_t(3 * cols), 1, 3), gain = random_floats(size_t(cols), 2);
    compare(1e-6, [&](Rig& r) {
      const Matrix y = r.matrix(3, cols);
      r->rms_norm(r.matrix(3, cols, x), r.matrix(1, cols, gain), 1e-5f, y);
      return y;
    });
    compare(1e-6, [&](Rig& r) {  // in place
      const Matrix y = r.matrix(3, cols, x);
      r->rms_norm(y, r.matrix(1, cols, gain), 1e-5f, y);
      return y;
    });
  }
}

TEST_P(Ops, SiluMul) {
  for (const int cols : {1, 15, 16, 33, 700}) {
    const auto g = random_floats(size_t(2 * cols), 1, 20), u = random_floats(size_t(2 * cols), 2);
    const Matrix got = rig->matrix(2, cols), expected = judge->matrix(2, cols);
    (*rig)->silu_mul(rig->matrix(2, cols, g), rig->matrix(2, cols, u), got);
    (*judge)->silu_mul(judge->matrix(2, cols, g), judge->matrix(2, cols, u), expected);
    const auto a = rig->values(got), b = judge->values(expected);
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_NEAR(a[i], b[i], std::abs(b[i]) * 5e-7f + 1e-37f) << g[i];
    }
    EXPECT_TRUE(rig->intact(got));
  }
}

TEST_P(Ops, SiluMulLimits) {
  const std::vector<float> g = {-INFINITY, -200, -89, -104, 0, 88, 200, NAN};
  const Matrix y = rig->matrix(1, 8);
  (*rig)->silu_mul(rig->matrix(1, 8, g), rig->matrix(1, 8, std::vector<float>(8, 1)), y);
  const auto v = rig->values(y);
  EXPECT_TRUE(std::isnan(v[0]) || v[0] == 0);
  for (const int i : {1, 2, 3, 4}) EXPECT_NEAR(v[size_t(i)], 0, 1e-30);
  EXPECT_EQ(v[5], 88);
  EXPECT_EQ(v[6], 200);
  EXPECT_TRUE(std::isnan(v[7]));
}

TEST_P(Ops, Rope) {
  for (const bool neox : {false, true}) {
    for (const auto& [dim, rotated] :
         {std::pair{64, 64}, {80, 32}, {6, 6}, {128, 128}, {2, 2}, {40, 38}}) {
      const int rows = 3, cols = 3 * dim;
      SCOPED_TRACE(testing::Message() << dim << " " << rotated << " " << neox);
      const auto x = random_floats(size_t(rows * cols), 1);
      const auto c = random_floats(size_t(rows * rotated / 2), 2), s = random_floats(c.size(), 3);
      compare(1e-6, [&](Rig& r) {
        const Matrix y = r.matrix(rows, cols, x);
        r->rope(y, r.matrix(rows, rotated / 2, c), r.matrix(rows, rotated / 2, s), dim, rotated,
                neox);
        return y;
      });
    }
  }
}

struct AttentionCase {
  int dim, kv_heads, group, past, rows;
};

Matrix attend(Rig& r, const AttentionCase& c, KvPool& pool, const std::vector<int32_t>& pages) {
  const int total = c.past + c.rows, kv_cols = c.dim * c.kv_heads, cols = kv_cols * c.group;
  const auto k = random_floats(size_t(total * kv_cols), 11),
             v = random_floats(size_t(total * kv_cols), 12);
  r->kv_store(pool, 1, pages, 0, r.matrix(total, kv_cols, k), r.matrix(total, kv_cols, v));
  const Matrix y = r.matrix(c.rows, cols);
  r->attention(pool, 1, pages, c.past,
               r.matrix(c.rows, cols, random_floats(size_t(c.rows * cols), 13)),
               1 / std::sqrt(float(c.dim)), y);
  return y;
}

TEST_P(Ops, Attention) {
  const AttentionCase cases[] = {{64, 2, 7, 0, 1},  {64, 2, 7, 100, 1},  {64, 3, 3, 60, 9},
                                 {80, 2, 1, 0, 70}, {128, 1, 4, 191, 3}, {256, 1, 4, 63, 2},
                                 {2, 2, 2, 5, 4},   {38, 1, 5, 130, 66}};
  for (const AttentionCase& c : cases) {
    SCOPED_TRACE(testing::Message()
                 << c.dim << " " << c.kv_heads << " " << c.group << " " << c.past << " " << c.rows);
    const std::vector<int32_t> pages = {3, 0, 4, 1};
    // Keys and values are rounded to halves: 2^-11 relative.
    compare(5e-3, [&](Rig& r) {
      const auto pool = r.backend().make_kv({2, c.kv_heads, c.dim, 5});
      return attend(r, c, *pool, pages);
    });
  }
}

TEST_P(Ops, KvCopy) {
  const AttentionCase c{40, 2, 2, 50, 14};
  compare(5e-3, [&](Rig& r) {
    const auto pool = r.backend().make_kv({2, c.kv_heads, c.dim, 5});
    attend(r, c, *pool, {3});
    r->kv_copy(*pool, 3, 2, 40);
    // Position 39 sees the copied 40 slots only.
    const int cols = c.dim * c.kv_heads * c.group;
    const Matrix y = r.matrix(1, cols);
    r->attention(*pool, 1, std::vector<int32_t>{2}, 39,
                 r.matrix(1, cols, random_floats(size_t(cols), 7)), 0.2f, y);
    return y;
  });
}

TEST_P(Ops, KvPagesHaveTheSizeAnnounced) {
  const KvShape shape{2, 2, 40, 5};
  EXPECT_EQ(rig->backend().make_kv(shape)->bytes_per_page(),
            rig->backend().kv_bytes_per_page(shape));
}

TEST_P(Ops, Select) {
  for (const int n : {1, 7, 16, 1000, 1025, 20000}) {
    const auto logits = random_floats(size_t(n), uint32_t(n), 4);
    std::vector<uint8_t> banned(size_t(n + 7) / 8);
    for (int i = 0; i < n; i += 3) banned[size_t(i / 8)] |= uint8_t(1 << (i % 8));
    for (const bool ban : {false, true}) {
      Selection a, b;
      const std::span<const uint8_t> bits =
          ban && n > 1 ? std::span<const uint8_t>(banned) : std::span<const uint8_t>();
      (*rig)->select(rig->matrix(1, n, logits), bits, {}, 20, &a);
      (*judge)->select(judge->matrix(1, n, logits), bits, {}, 20, &b);
      EXPECT_EQ(a.ids, b.ids);
      EXPECT_EQ(a.logits, b.logits);
      EXPECT_NEAR(a.logsumexp, b.logsumexp, 1e-5);
      EXPECT_TRUE(a.finite);
      EXPECT_EQ(a.ids.size(), std::min<size_t>(20, size_t(ban && n > 1 ? n - (n + 2) / 3 : n)));
    }
  }
}

TEST_P(Ops, SelectOnlyTiesAndNotANumber) {
  std::vector<float> logits(3000, 1.0f);
  logits[2500] = logits[70] = logits[1025] = 5;
  Selection s;
  (*rig)->select(rig->matrix(1, 3000, logits), {}, {}, 4, &s);
  EXPECT_EQ(s.ids, (std::vector<int32_t>{70, 1025, 2500, 0}));
  const std::vector<int32_t> only = {9, 2500, 3, 9};
  const float all = s.logsumexp;
  (*rig)->select(rig->matrix(1, 3000, logits), {}, only, 5, &s);
  EXPECT_EQ(s.ids, (std::vector<int32_t>{2500, 3, 9}));
  EXPECT_EQ(s.logsumexp, all);
  std::vector<uint8_t> ban_some = {0x08};  // id 3; shorter than the row
  (*rig)->select(rig->matrix(1, 3000, logits), ban_some, only, 5, &s);
  EXPECT_EQ(s.ids, (std::vector<int32_t>{2500, 9}));

  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    logits[3] = bad;
    (*rig)->select(rig->matrix(1, 3000, logits), {}, {}, 2, &s);
    EXPECT_FALSE(s.finite);
    (*rig)->select(rig->matrix(1, 3000, logits), ban_some, {}, 2, &s);  // banned: of no account
    EXPECT_TRUE(s.finite);
    EXPECT_EQ(s.ids, (std::vector<int32_t>{70, 1025}));
  }
}

}  // namespace
}  // namespace foretoken::kernels

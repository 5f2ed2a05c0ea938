#include "tests/support/guarded_backend.h"

#include <gtest/gtest.h>

#include "kernels/cpu/host_memory.h"
#include "tests/support/kernel_rig.h"

namespace foretoken::kernels {
namespace {

TEST(GuardedBackend, ComputesAsReferenceDoes) {
  const int in = 64, out = 20;
  const auto rows = random_rows(DType::q4_0, in, out, 1);
  const auto x = random_floats(2 * in, 2);
  std::vector<std::vector<float>> results;
  for (const bool guarded : {false, true}) {
    Rig rig(guarded ? test::make_guarded_backend() : make_backend("reference", 1));
    const auto w = rig.weight(DType::q4_0, in, out, rows, WeightSource::Use::both);
    const Matrix y = rig.matrix(2, out), e = rig.matrix(2, in);
    rig->matmul(rig.matrix(2, in, x), *w, nullptr, false, y);
    rig->embed(*w, std::vector<int32_t>{3, 19}, e);
    results.push_back(rig.values(y));
    results.push_back(rig.values(e));
  }
  EXPECT_TRUE(same_bits(results[0], results[2]));
  EXPECT_TRUE(same_bits(results[1], results[3]));
}

TEST(GuardedBackendDeathTest, TheHostMayNotTouchABuffer) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto backend = test::make_guarded_backend();
  const auto buffer = backend->allocate(64);
  const Matrix m{buffer.get(), 0, 1, 16, 16};
  EXPECT_DEATH({ *static_cast<volatile float*>(row_of(m, 0)) = 1; }, "");
}

}  // namespace
}  // namespace foretoken::kernels

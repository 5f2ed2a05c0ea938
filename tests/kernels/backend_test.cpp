#include "kernels/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/kernel_rig.h"

namespace foretoken::kernels {
namespace {

std::string message_of(std::string_view name) {
  try {
    make_backend(name, 1);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST(BackendTable, ReferenceIsLastAndRunsEverywhere) {
  EXPECT_EQ(backends().back().name, "reference");
  EXPECT_TRUE(backends().back().runs_here());
}

TEST(BackendTable, AutoTakesTheFirstThatRuns) {
  for (const BackendEntry& b : backends()) {
    if (!b.runs_here()) continue;
    EXPECT_EQ(make_backend("auto", 1)->name(), b.name);
    break;
  }
}

TEST(BackendTable, EachRunsOrSaysWhatItNeeds) {
  for (const BackendEntry& b : backends()) {
    if (b.runs_here()) {
      const auto backend = make_backend(b.name, b.name == "reference" ? 1 : 3);
      EXPECT_EQ(backend->name(), b.name);
      EXPECT_EQ(backend->threads(), b.name == "reference" ? 1 : 3);
    } else {
      EXPECT_THAT(
          message_of(b.name),
          testing::AllOf(testing::HasSubstr("backend '" + std::string(b.name) + "' needs " +
                                            std::string(b.needs)),
                         testing::HasSubstr("available here: "), testing::HasSubstr("reference")));
    }
  }
}

TEST(BackendTable, UnknownNamesAreRefused) {
  EXPECT_THAT(message_of("neon"),
              testing::StartsWith("backend 'neon' is unknown; available here: "));
  EXPECT_NE(message_of(""), "");
}

// Packed weights stay close to the file's size, and what load_weight throws comes through.
TEST(Loading, ResidentBytes) {
  for (const BackendEntry& b : backends()) {
    if (!b.runs_here()) continue;
    Rig rig(make_backend(b.name, 2));
    for (const DTypeInfo& info : dtypes()) {
      const auto w = rig.weight(info.type, 1024, 64, random_rows(info.type, 1024, 64, 1));
      EXPECT_LE(double(w->bytes()), 1.03 * double(64 * row_bytes(info.type, 1024))) << info.name;
    }
  }
}

TEST(Loading, ErrorsOfTheSourceComeThrough) {
  for (const BackendEntry& b : backends()) {
    if (!b.runs_here()) continue;
    const auto backend = make_backend(b.name, 2);
    const WeightSource source{DType::q4_0, 64, 4096, WeightSource::Use::matmul,
                              [](int, std::span<std::byte>) { throw std::runtime_error("short"); }};
    EXPECT_THROW(backend->load_weight(source), std::runtime_error);
  }
}

}  // namespace
}  // namespace foretoken::kernels

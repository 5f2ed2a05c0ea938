// Reading a header costs time and memory in proportion to it, whatever it holds.
#include <gtest/gtest.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <functional>

#include "engine/gguf.h"
#include "engine/tokenizer.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/temporary_file.h"

namespace foretoken::engine {
namespace {

using test::GgufBuilder;

std::string numbered(const char* stem, int i) {
  return stem + std::to_string(i);
}

std::string many_values(int count) {
  GgufBuilder b;
  for (int i = 0; i < count; ++i) {
    b.values.push_back({numbered("k", i), b.u8, "x", {}});
  }
  return b.bytes();
}

std::string many_tensors(int count) {
  GgufBuilder b;
  b.alignment = 1;
  b.set_u32("general.alignment", 1);
  for (int i = 0; i < count; ++i) b.add_tensor(numbered("t", i), {1}, 0, "data");
  return b.bytes();
}

std::string many_strings(int count) {
  GgufBuilder b;
  b.set_array("texts", b.string, uint64_t(count), std::string(size_t(count) * 8, '\0'));
  return b.bytes();
}

std::string long_string(int kilobytes) {
  GgufBuilder b;
  b.set_string("text", std::string(size_t(kilobytes) << 10, 'x'));
  return b.bytes();
}

std::string many_tokens(int count) {
  GgufBuilder b;
  test::add_byte_vocabulary(b);
  std::vector<std::string> tokens = test::byte_vocabulary_tokens(), merges;
  for (int i = 0; i < count; ++i) {  // all with one long beginning: sorting has to look far
    tokens.push_back(std::string(24, 'a') + std::to_string(i));
    merges.push_back(std::string(24, 'a') + " " + std::to_string(i));
  }
  b.set_strings("tokenizer.ggml.tokens", tokens).set_strings("tokenizer.ggml.merges", merges);
  b.set_i32s("tokenizer.ggml.token_type", std::vector<int32_t>(tokens.size(), 1));
  return b.bytes();
}

struct Kind {
  const char* name;
  std::function<std::string(int)> make;
  int count;  // of the larger file
  bool tokenizer = false;
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

struct Cost {
  double seconds = 1e9;  // of this thread's processor time
  size_t bytes = 0;      // of heap, held
};

double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

Cost cost_of(const std::string& bytes, bool tokenizer) {
  const test::TemporaryFile file(bytes);
  Cost cost;
  for (int i = 0; i < 5; ++i) {
    const auto held = [] {
      const auto info = mallinfo2();
      return info.uordblks + info.hblkhd;
    };
    const size_t before = held();
    const double start = thread_seconds();
    const GgufFile gguf(file.path());
    const auto loaded = tokenizer ? std::make_unique<Tokenizer>(gguf) : nullptr;
    cost.seconds = std::min(cost.seconds, thread_seconds() - start);
    cost.bytes = held() - before;  // 0 where a sanitizer owns the heap
  }
  return cost;
}

class HeaderCost : public testing::TestWithParam<Kind> {};

TEST_P(HeaderCost, GrowsWithTheHeader) {
  const Kind& kind = GetParam();
  const std::string large = kind.make(kind.count), small = kind.make(kind.count / 4);
  const Cost a = cost_of(small, kind.tokenizer), b = cost_of(large, kind.tokenizer);
  // Four times the header: 4 where linear, 16 where quadratic.
  EXPECT_LE(b.seconds, a.seconds * 9 + 1e-3) << a.seconds << " s, " << b.seconds << " s";
  const size_t most = kind.tokenizer ? 8 * large.size() : 4 * large.size();
  EXPECT_LE(b.bytes, most + (16u << 20));
}

INSTANTIATE_TEST_SUITE_P(Kinds, HeaderCost,
                         testing::Values(Kind{"values", many_values, 240000},
                                         Kind{"tensors", many_tensors, 64000},
                                         Kind{"strings", many_strings, 500000},
                                         Kind{"string", long_string, 16 << 10},
                                         Kind{"tokens_and_merges", many_tokens, 60000, true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace foretoken::engine

// The forward pass against logits that an independent program computed in double precision
// (tests/data/tiny, tests/data/pocket, tests/data/real: see the README there for the tolerances).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/gguf.h"
#include "tests/support/models.h"

namespace foretoken {
namespace {

using engine::TokenId;
using nlohmann::json;

json read_json(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  return json::parse(in);
}

struct Answer {
  std::vector<float> logits;
  std::vector<TokenId> greedy;
};

Answer run(engine::Runtime& runtime, const std::vector<TokenId>& ids, int greedy) {
  auto sequence = runtime.tree().acquire(ids, 0, true);
  EXPECT_FALSE(runtime.prefill(sequence, ids, {}));
  Answer result{runtime.logits(), {}};
  for (int i = 0; i < greedy; ++i) {
    const auto best = runtime.select({}, {}, 1);
    if (best.ids.empty()) break;
    result.greedy.push_back(best.ids.front());
    EXPECT_FALSE(runtime.prefill(sequence, best.ids, {}));
  }
  runtime.tree().release(std::move(sequence));
  return result;
}

double logsumexp(const std::vector<float>& logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float l : logits) sum += std::exp(l - most);
  return most + std::log(sum);
}

struct TinyCase {
  const char* file;
  bool blocks;  // weights in blocks: 8-bit activations outside `reference`
};
const TinyCase kTiny[] = {
    {"llama-f32", false},   {"llama-f16", false},      {"llama-bf16", false},
    {"llama-q4_0", true},   {"llama-q4_1", true},      {"llama-q5_0", true},
    {"llama-q5_1", true},   {"llama-q8_0", true},      {"llama-q4_k", true},
    {"llama-q5_k", true},   {"llama-q6_k", true},      {"llama-fused-qkv", false},
    {"llama-untied-mqa", false}, {"llama-linear4", false}, {"llama-yarn4", false},
    {"llama3-freqs", false}, {"qwen2-f32", false},     {"qwen2-q8_0", true},
};

class TinyModels : public testing::TestWithParam<std::tuple<TinyCase, std::string>> {};

TEST_P(TinyModels, GiveTheLogitsOfTheDoublePrecisionReference) {
  const auto& [c, backend] = GetParam();
  const json golden = read_json(test::data_path("tiny/" + std::string(c.file) + ".json"));
  const auto runtime =
      test::load(test::data_path("tiny/" + std::string(c.file) + ".gguf"), {.backend = backend});
  ASSERT_TRUE(backend == "guarded" || runtime->backend().name() == backend);
  const Answer got = run(*runtime, golden["ids"].get<std::vector<TokenId>>(), 8);

  const auto expected = golden["last_logits"].get<std::vector<float>>();
  ASSERT_EQ(got.logits.size(), expected.size());
  const bool exact = backend == "reference" || backend == "guarded";
  if (exact) {
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(got.logits[i], expected[i], c.blocks ? 1e-3 : 1e-4) << "logit " << i;
    }
  } else {
    const double got_sum = logsumexp(got.logits), expected_sum = logsumexp(expected);
    for (const json& top : golden["top"]) {
      const size_t id = top[0];
      ASSERT_NEAR(got.logits[id] - got_sum, double(expected[id]) - expected_sum, 0.15) << "token " << id;
    }
  }
  if (exact || golden["margin"].get<double>() > 0.3) {
    EXPECT_EQ(got.greedy.front(), golden["greedy"][0].get<TokenId>());
  }
  if (exact) {
    EXPECT_EQ(got.greedy, golden["greedy"].get<std::vector<TokenId>>());
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, TinyModels,
                         testing::Combine(testing::ValuesIn(kTiny), testing::ValuesIn(test::backends_and_guarded())),
                         [](const auto& info) {
                           std::string name = std::string(std::get<0>(info.param).file) + "_" +
                                              std::get<1>(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// Reference vectors of a model with steps: greedy tokens hold up to the first narrow margin.
void check_vectors(const json& cases, engine::Runtime& runtime, double tolerance, double margin,
                   double divergence) {
  for (const json& c : cases) {
    SCOPED_TRACE(c["name"].get<std::string>());
    std::vector<TokenId> ids;
    for (const json& part : c["parts"]) {
      if (part.contains("special")) {
        const auto id = runtime.tokenizer().find(part["special"].get<std::string>());
        ASSERT_TRUE(id.has_value());
        ids.push_back(*id);
      } else {
        for (const TokenId id : runtime.tokenizer().encode(part["text"].get<std::string>())) {
          ids.push_back(id);
        }
      }
    }
    ASSERT_EQ(ids, c["ids"].get<std::vector<TokenId>>());
    const Answer got = run(runtime, ids, static_cast<int>(c["steps"].size()));
    const double sum = logsumexp(got.logits), expected_sum = c["steps"][0]["logsumexp"];
    double kl = 0;
    int rank = 0;
    for (const json& top : c["steps"][0]["top"]) {
      const double got_lp = got.logits[top[0].get<size_t>()] - sum;
      const double expected_lp = top[1].get<double>() - expected_sum;
      kl += std::exp(expected_lp) * (expected_lp - got_lp);
      if (rank++ < 16) {
        EXPECT_NEAR(got_lp, expected_lp, tolerance) << "token " << top[0];
      }
    }
    EXPECT_LE(kl, divergence);
    for (size_t i = 0; i < c["steps"].size() && c["steps"][i]["margin"].get<double>() >= margin; ++i) {
      EXPECT_EQ(got.greedy[i], c["steps"][i]["token"].get<TokenId>()) << "step " << i;
    }
  }
}

void check_model(const std::string& path, const json& cases) {
  for (const std::string& backend : test::backends_here()) {
    SCOPED_TRACE(backend);
    const auto runtime = test::load(path, {.backend = backend});
    const bool exact = backend == "reference";
    check_vectors(cases, *runtime, exact ? 2e-3 : 0.8, exact ? 0.02 : 0.6, exact ? 1e-4 : 0.03);
  }
}

TEST(PocketModel, GivesItsReferenceVectorsOnEveryBackendHere) {
  check_model(test::pocket_path(), read_json(test::data_path("pocket/vectors.json")));
}

class RealModels : public testing::TestWithParam<const char*> {};
TEST_P(RealModels, GiveTheirReferenceVectorsOnEveryBackendHere) {
  const std::string name = GetParam();
  const auto path = test::real_model(name + ".gguf");
  if (!path) {
    GTEST_SKIP() << name << ".gguf is not in the folder that FORETOKEN_TEST_MODELS names";
  }
  check_model(*path, read_json(test::data_path("real/" + name + ".json")));
}
INSTANTIATE_TEST_SUITE_P(Golden, RealModels,
                         testing::Values("qwen2.5-coder-0.5b-q4_k_m", "smollm2-135m-q4_1"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& ch : name) {
                             if (!isalnum(static_cast<unsigned char>(ch))) ch = '_';
                           }
                           return name;
                         });

TEST(UnsupportedModels, AreRefusedWithOneLineThatNamesTheFault) {
  const std::pair<const char*, const char*> cases[] = {
      {"gemma-f32", "general.architecture"},  {"starcoder2-f32", "general.architecture"},
      {"phi3-fused", "general.architecture"}, {"llama-iq4_nl", "IQ4_NL"},
      {"llama-mxfp4", "MXFP4"},               {"llama-q2_k", "Q2_K"},
  };
  for (const auto& [file, word] : cases) {
    try {
      test::load(test::data_path("tiny/" + std::string(file) + ".gguf"));
      ADD_FAILURE() << file << " loaded";
    } catch (const engine::ModelError& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace foretoken

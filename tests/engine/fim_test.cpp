// How fill-in-the-middle tokens are looked for: metadata keys, token texts, the model's name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/fim_models.h"

namespace foretoken::engine {
namespace {

using test::GgufBuilder;
using testing::ElementsAre;
using Files = Fim::Files;

const std::vector<std::string> kQwen = {"<|endoftext|>",  "<|fim_prefix|>", "<|fim_middle|>",
                                        "<|fim_suffix|>", "<|fim_pad|>",    "<|repo_name|>",
                                        "<|file_sep|>"};

TEST(Fim, KeysComeBeforeTexts) {
  GgufBuilder b = vocabulary({"<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
                              "<A>", "<B>", "<C>", "<SEP>"});
  b.set_u32(kGgml + "prefix_token_id", 280).set_u32(kGgml + "suffix_token_id", 281);  // legacy
  b.set_u32(kGgml + "middle_token_id", 282).set_u32(kGgml + "fim_sep_token_id", 283);
  const Detected d(b);
  EXPECT_EQ(d.fim.found_by, "metadata keys");
  EXPECT_EQ(d.fim.family, "other");
  EXPECT_EQ(d.fim.prefix, 280);
  EXPECT_EQ(d.fim.suffix, 281);
  EXPECT_EQ(d.fim.middle, 282);
  EXPECT_EQ(d.fim.files, Files::separator);
  EXPECT_EQ(d.fim.file_separator, 283);
}

TEST(Fim, KeysThatNameNothingLeaveItToTheTexts) {
  for (const auto& [pre, suf, mid] : std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>{
           {277, 279, 100000}, {~0u, 279, 278}, {277, 277, 278}, {277, 279, 277}}) {
    GgufBuilder b = vocabulary(kQwen);
    b.set_u32(kGgml + "fim_pre_token_id", pre).set_u32(kGgml + "fim_suf_token_id", suf);
    b.set_u32(kGgml + "fim_mid_token_id", mid);
    const Detected d(b);
    EXPECT_EQ(d.fim.found_by, "token texts");
    EXPECT_EQ(d.fim.prefix, 277);
    EXPECT_EQ(d.fim.middle, 278);
    EXPECT_EQ(d.fim.suffix, 279);
  }
}

TEST(Fim, TheOrderOfTheVocabularyDoesNotDecide) {
  std::vector<std::string> tokens = {"<fim_middle>", "<fim_suffix>", "<fim_prefix>"};
  tokens.insert(tokens.end(), kQwen.rbegin(), kQwen.rend());
  EXPECT_EQ(Detected(vocabulary(tokens)).fim.family, "qwen2.5-coder");
}

TEST(Fim, AnIncompleteSetIsNone) {
  const Detected d(vocabulary({"<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>"}));
  EXPECT_EQ(d.fim.order, FimOrder::none);
  EXPECT_EQ(d.fim.family, "none");
  EXPECT_EQ(d.fim.found_by, "none");
  EXPECT_EQ(d.fim.prefix, std::nullopt);
}

TEST(Fim, AModelWithoutFimStillStops) {  // SmolLM2's control tokens
  GgufBuilder b = vocabulary({"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>",
                              "<reponame>", "<file_sep>", "<filename>", "<gh_stars>"});
  b.set_u32(kGgml + "eos_token_id", kFirst + 2);
  const Detected d(b);
  EXPECT_EQ(d.fim.order, FimOrder::none);
  EXPECT_EQ(d.fim.files, Files::none);
  EXPECT_THAT(d.fim.stops, ElementsAre(276, 278, 279, 280, 281, 282));
  EXPECT_TRUE(d.fim.is_banned(277));
  EXPECT_TRUE(d.fim.is_banned(283));
}

TEST(Fim, BosIsHonouredAndAddedWhereTheFamilyNeedsIt) {
  GgufBuilder b = vocabulary(kQwen);
  b.set_u32(kGgml + "bos_token_id", kFirst);
  EXPECT_EQ(Detected(b).fim.bos, std::nullopt);
  b.set_bool(kGgml + "add_bos_token", true);
  EXPECT_EQ(Detected(b).fim.bos, kFirst);
  GgufBuilder deepseek =
      vocabulary({"<｜begin▁of▁sentence｜>", "<｜fim▁hole｜>", "<｜fim▁begin｜>", "<｜fim▁end｜>"});
  deepseek.set_u32(kGgml + "bos_token_id", kFirst);
  EXPECT_EQ(Detected(deepseek).fim.bos, kFirst);
  deepseek.set_bool(kGgml + "add_bos_token", false);
  EXPECT_EQ(Detected(deepseek).fim.bos, std::nullopt);
}

TEST(Fim, PaddingAndMissingRowsAreNeverGenerated) {
  GgufBuilder b = test::tiny_llama();
  std::vector<std::string> tokens = test::byte_vocabulary_tokens();
  tokens[size_t(test::kByteVocabularyPadding)] = "";  // says nothing: would be generated for ever
  b.set_strings(kGgml + "tokens", tokens);
  std::vector<int32_t> types(tokens.size(), 1);
  std::fill(types.begin() + kFirst, types.begin() + test::kByteVocabularyPadding, 3);
  std::fill(types.begin() + test::kByteVocabularyPadding + 1, types.end(), 5);
  b.set_i32s(kGgml + "token_type", types);
  auto& embedding = b.tensor("token_embd.weight");
  embedding.dims[1] += 40;  // rows without a token
  embedding.data += test::random_floats(40 * 32, 1, 5);
  const Detected d(b);
  ASSERT_GE(d.fim.banned.size() * 8, tokens.size() + 40);
  for (TokenId id = test::kByteVocabularyPadding; id < TokenId(tokens.size()) + 40; ++id) {
    EXPECT_TRUE(d.fim.is_banned(id)) << id;
  }
}

TEST(Fim, ANameDecidesWhereTokensAreSpeltOtherwise) {
  std::vector<std::string> tokens = {"<e>", "<p>", "<m>", "<s>"};  // as StarCoder2 numbers them
  std::vector<int32_t> types(4, 3);
  for (size_t byte = 0; byte < 256; ++byte) {
    tokens.push_back(test::byte_vocabulary_tokens()[byte]);
    types.push_back(1);
  }
  GgufBuilder b = test::tiny_llama();
  b.set_strings(kGgml + "tokens", tokens).set_i32s(kGgml + "token_type", types);
  b.set_string("general.name", "My StarCoder2 7B");
  const Detected d(b);
  EXPECT_EQ(d.fim.found_by, "model name");
  EXPECT_EQ(d.fim.prefix, 1);
  EXPECT_EQ(d.fim.middle, 2);
  EXPECT_EQ(d.fim.suffix, 3);
  types[2] = 1;  // where the numbers are those of text, the name alone says nothing
  b.set_i32s(kGgml + "token_type", types);
  EXPECT_EQ(Detected(b).fim.order, FimOrder::none);
}

}  // namespace
}  // namespace foretoken::engine

// What is recognised in real vocabularies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/fim.h"
#include "engine/gguf.h"

namespace foretoken::engine {
namespace {

using testing::ElementsAre;
using Files = Fim::Files;

struct RealFile {
  explicit RealFile(const std::string& path)
      : file(path), tokenizer(file), fim(detect_fim(file, tokenizer)) {}
  GgufFile file;
  Tokenizer tokenizer;
  Fim fim;
};

TEST(RealVocabulary, Starcoder2) {
  const RealFile m(FORETOKEN_TEST_DATA "/tokenizers/starcoder.gguf");
  EXPECT_EQ(m.fim.family, "starcoder2");
  EXPECT_EQ(m.fim.prefix, 1);
  EXPECT_EQ(m.fim.middle, 2);
  EXPECT_EQ(m.fim.suffix, 3);
  EXPECT_EQ(m.fim.pad, 4);
  EXPECT_EQ(m.fim.repo, 5);
  EXPECT_EQ(m.fim.file_separator, 6);
  EXPECT_TRUE(m.fim.path_after_prefix);
  EXPECT_THAT(m.fim.stops, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_TRUE(m.fim.is_banned(37));
  EXPECT_FALSE(m.fim.is_banned(38));
}

TEST(RealVocabulary, Refact) {
  const RealFile m(FORETOKEN_TEST_DATA "/tokenizers/refact.gguf");
  EXPECT_EQ(m.fim.family, "refact");
  EXPECT_EQ(m.fim.file_separator, 5);
  EXPECT_EQ(m.fim.repo, 18);
  EXPECT_EQ(m.fim.files, Files::filename_token);
  EXPECT_TRUE(m.fim.is_banned(49152));  // [PAD49152], which the file calls user-defined
}

TEST(RealVocabulary, DeepseekCoder) {
  const RealFile m(FORETOKEN_TEST_DATA "/tokenizers/deepseek-coder.gguf");
  EXPECT_EQ(m.fim.family, "deepseek-coder");
  EXPECT_EQ(m.fim.suffix, 32015);
  EXPECT_EQ(m.fim.prefix, 32016);
  EXPECT_EQ(m.fim.middle, 32017);
  EXPECT_EQ(m.fim.bos, 32013);
  EXPECT_EQ(m.fim.files, Files::hash_comment);
  EXPECT_THAT(m.fim.stops, ElementsAre(32013, 32014, 32015, 32016, 32017, 32021));
  EXPECT_FALSE(m.fim.is_banned(32000));  // a letter as a user-defined token
  EXPECT_TRUE(m.fim.is_banned(32022));
}

TEST(RealVocabulary, WithoutFim) {
  for (const char* name : {"gpt-2", "mpt", "falcon", "deepseek-llm"}) {
    const RealFile m(FORETOKEN_TEST_DATA "/tokenizers/" + std::string(name) + ".gguf");
    EXPECT_EQ(m.fim.order, FimOrder::none) << name;
    EXPECT_FALSE(m.fim.stops.empty()) << name;
  }
}

TEST(RealVocabulary, Pocket) {
  const RealFile m(FORETOKEN_SOURCE_DIR "/lsp/pocket/pocket-q8_0.gguf");
  EXPECT_EQ(m.fim.family, "foretoken-pocket");
  EXPECT_EQ(m.fim.found_by, "metadata keys");
  EXPECT_EQ(m.fim.prefix, 8186);
  EXPECT_EQ(m.fim.middle, 8187);
  EXPECT_EQ(m.fim.suffix, 8188);
  EXPECT_EQ(m.fim.file_separator, 8191);
  EXPECT_EQ(m.fim.repo, std::nullopt);
  EXPECT_EQ(m.fim.bos, std::nullopt);
  EXPECT_THAT(m.fim.stops, ElementsAre(8185, 8186, 8187, 8188, 8189, 8190, 8191));
}

TEST(RealVocabulary, Tiny) {
  const RealFile m(FORETOKEN_TEST_DATA "/tiny/llama-f32.gguf");
  EXPECT_EQ(m.fim.family, "qwen2.5-coder");
  EXPECT_EQ(m.fim.found_by, "token texts");
  EXPECT_EQ(m.fim.prefix, 277);
  EXPECT_TRUE(m.fim.is_banned(283));
}

TEST(RealVocabulary, QwenCoder) {
  const char* folder = std::getenv("FORETOKEN_TEST_MODELS");
  if (folder == nullptr) {
    GTEST_SKIP() << "FORETOKEN_TEST_MODELS does not name a folder with "
                    "qwen2.5-coder-0.5b-q4_k_m.gguf: its FIM tokens are not tested";
  }
  const RealFile m(std::string(folder) + "/qwen2.5-coder-0.5b-q4_k_m.gguf");
  EXPECT_EQ(m.fim.family, "qwen2.5-coder");
  EXPECT_EQ(m.fim.found_by, "token texts");
  EXPECT_EQ(m.fim.prefix, 151659);
  EXPECT_EQ(m.fim.middle, 151660);
  EXPECT_EQ(m.fim.suffix, 151661);
  EXPECT_EQ(m.fim.pad, 151662);
  EXPECT_EQ(m.fim.repo, 151663);
  EXPECT_EQ(m.fim.file_separator, 151664);
  EXPECT_EQ(m.fim.bos, std::nullopt);
  EXPECT_THAT(m.fim.stops,
              ElementsAre(151643, 151645, 151659, 151660, 151661, 151662, 151663, 151664));
  for (TokenId id = 151665; id < 151936; ++id) EXPECT_TRUE(m.fim.is_banned(id));
}

}  // namespace
}  // namespace foretoken::engine

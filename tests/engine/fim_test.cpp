// Fill-in-the-middle families: recognised by metadata keys, token texts or the model's name.
#include "engine/fim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/gguf.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/temporary_file.h"

namespace foretoken::engine {
namespace {

using test::GgufBuilder;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

const std::string kGgml = "tokenizer.ggml.";
constexpr TokenId kFirst = test::kByteVocabularyControl;  // of the extra tokens

/// The byte vocabulary with `extra` in place of Qwen's control tokens and of the padding.
GgufBuilder vocabulary(const std::vector<std::string>& extra, int32_t type = 3) {
  GgufBuilder b = test::tiny_llama();
  std::vector<std::string> tokens = test::byte_vocabulary_tokens();
  tokens.resize(size_t(kFirst));
  std::vector<int32_t> types(tokens.size(), 1);
  for (const std::string& text : extra) {
    tokens.push_back(text);
    types.push_back(type);
  }
  b.set_strings(kGgml + "tokens", tokens).set_i32s(kGgml + "token_type", types);
  b.set_u32(kGgml + "eos_token_id", kFirst).remove(kGgml + "bos_token_id");
  b.remove(kGgml + "add_bos_token").remove("general.name");
  return b;
}

struct Detected {
  explicit Detected(const GgufBuilder& b)
      : bytes(b.bytes()), file(bytes.path()), tokenizer(file), fim(detect_fim(file, tokenizer)) {}
  std::string text(std::optional<TokenId> id) const {
    return id ? std::string(tokenizer.text(*id)) : "";
  }
  test::TemporaryFile bytes;
  GgufFile file;
  Tokenizer tokenizer;
  Fim fim;
};

struct Family {
  const char* family;
  FimOrder order;
  Fim::Files files;
  const char *prefix, *suffix, *middle, *separator, *repo;
  std::vector<std::string> tokens;
  const char* architecture = "llama";
  const char* name = "";
  const char* pre = "qwen2";
  bool bos = false, path_after_prefix = false;
};
void PrintTo(const Family& family, std::ostream* out) {
  *out << family.family;
}

using Files = Fim::Files;
constexpr FimOrder kPsm = FimOrder::prefix_suffix_middle, kSpm = FimOrder::suffix_prefix_middle;
const Family kFamilies[] = {
    {"qwen2.5-coder",
     kPsm,
     Files::separator,
     "<|fim_prefix|>",
     "<|fim_suffix|>",
     "<|fim_middle|>",
     "<|file_sep|>",
     "<|repo_name|>",
     {"<|endoftext|>", "<|im_end|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
      "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"},
     "qwen2"},
    {"starcoder2",
     kPsm,
     Files::separator,
     "<fim_prefix>",
     "<fim_suffix>",
     "<fim_middle>",
     "<file_sep>",
     "<repo_name>",
     {"<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>", "<repo_name>",
      "<file_sep>"},
     "starcoder2",
     "",
     "starcoder",
     false,
     true},
    {"starcoder",
     kPsm,
     Files::filename_token,
     "<fim_prefix>",
     "<fim_suffix>",
     "<fim_middle>",
     "<filename>",
     "<reponame>",
     {"<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>", "<filename>",
      "<gh_stars>", "<reponame>"},
     "starcoder",
     "",
     "refact"},
    {"refact",
     kPsm,
     Files::filename_token,
     "<fim_prefix>",
     "<fim_suffix>",
     "<fim_middle>",
     "<filename>",
     "<reponame>",
     {"<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<filename>", "<reponame>"},
     "refact",
     "",
     "refact"},
    {"granite-code",
     kPsm,
     Files::filename_token,
     "<fim_prefix>",
     "<fim_suffix>",
     "<fim_middle>",
     "<filename>",
     "<reponame>",
     {"<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<filename>", "<reponame>"},
     "llama",
     "Granite 3b Code Base",
     "refact"},
    {"granite",
     kPsm,
     Files::none,
     "<|fim_prefix|>",
     "<|fim_suffix|>",
     "<|fim_middle|>",
     "",
     "",
     {"<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>"},
     "granite"},
    {"codeshell",
     kPsm,
     Files::none,
     "<fim_prefix>",
     "<fim_suffix>",
     "<fim_middle>",
     "",
     "",
     {"<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>"},
     "codeshell",
     "",
     "codeshell"},
    {"santacoder",
     kPsm,
     Files::none,
     "<fim-prefix>",
     "<fim-suffix>",
     "<fim-middle>",
     "",
     "",
     {"<|endoftext|>", "<fim-prefix>", "<fim-middle>", "<fim-suffix>", "<fim-pad>"},
     "starcoder"},
    {"deepseek-coder",
     kPsm,
     Files::hash_comment,
     "<｜fim▁begin｜>",
     "<｜fim▁hole｜>",
     "<｜fim▁end｜>",
     "",
     "",
     {"<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜fim▁hole｜>", "<｜fim▁begin｜>",
      "<｜fim▁end｜>", "<|EOT|>"},
     "llama",
     "",
     "deepseek-coder",
     true},
    {"mellum",
     kSpm,
     Files::filename_token,
     "<fim_prefix>",
     "<fim_suffix>",
     "<fim_middle>",
     "<filename>",
     "<reponame>",
     {"<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<filename>", "<reponame>"},
     "llama",
     "Mellum 4b Base",
     "mellum"},
    {"seed-coder",
     kSpm,
     Files::none,
     "<[fim-prefix]>",
     "<[fim-suffix]>",
     "<[fim-middle]>",
     "",
     "",
     {"<[begin▁of▁sentence]>", "<[end▁of▁sentence]>", "<[fim-prefix]>", "<[fim-middle]>",
      "<[fim-suffix]>"},
     "llama",
     "",
     "seed-coder"},
    {"codegemma",
     kPsm,
     Files::separator,
     "<|fim_prefix|>",
     "<|fim_suffix|>",
     "<|fim_middle|>",
     "<|file_separator|>",
     "",
     {"<bos>", "<eos>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|file_separator|>"},
     "gemma",
     "",
     "qwen2",
     true},
    {"glm",
     kPsm,
     Files::none,
     "<|code_prefix|>",
     "<|code_suffix|>",
     "<|code_middle|>",
     "",
     "",
     {"<|endoftext|>", "<|code_prefix|>", "<|code_middle|>", "<|code_suffix|>"},
     "glm4"},
    {"falcon-h1",
     kPsm,
     Files::none,
     "<|prefix|>",
     "<|suffix|>",
     "<|middle|>",
     "",
     "",
     {"<|end_of_text|>", "<|prefix|>", "<|middle|>", "<|suffix|>"},
     "falcon-h1",
     "",
     "gpt-2"},
    {"codellama",
     kPsm,
     Files::none,
     "▁<PRE>",
     "▁<SUF>",
     "▁<MID>",
     "",
     "",
     {"<s>", "▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>"},
     "llama",
     "",
     "gpt-2",
     true},
    {"codestral",
     kSpm,
     Files::none,
     "[PREFIX]",
     "[SUFFIX]",
     "",
     "",
     "",
     {"<s>", "</s>", "[SUFFIX]", "[PREFIX]", "[MIDDLE]"},
     "llama",
     "",
     "tekken",
     true},
    {"foretoken-pocket",
     kPsm,
     Files::separator,
     "<|fim_prefix|>",
     "<|fim_suffix|>",
     "<|fim_middle|>",
     "<|file_sep|>",
     "",
     {"<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>",
      "<|repo_name|>", "<|file_sep|>"},
     "llama",
     "Foretoken pocket"},
};

class KnownFamily : public testing::TestWithParam<Family> {
 protected:
  static GgufBuilder builder(int32_t type) {
    const Family& f = GetParam();
    GgufBuilder b = vocabulary(f.tokens, type);
    b.set_string("general.architecture", f.architecture).set_string("general.name", f.name);
    b.set_string(kGgml + "pre", f.pre);
    if (f.bos) b.set_u32(kGgml + "bos_token_id", kFirst);
    return b;
  }

  static void expect_family(const Detected& d, std::string_view found_by) {
    const Family& f = GetParam();
    EXPECT_EQ(d.fim.family, f.family);
    EXPECT_EQ(d.fim.found_by, found_by);
    EXPECT_EQ(d.fim.order, f.order);
    EXPECT_EQ(d.text(d.fim.prefix), f.prefix);
    EXPECT_EQ(d.text(d.fim.suffix), f.suffix);
    EXPECT_EQ(d.text(d.fim.middle), f.middle);
    EXPECT_EQ(d.fim.files, f.files);
    EXPECT_EQ(d.text(d.fim.file_separator), f.separator);
    EXPECT_EQ(d.text(d.fim.repo), f.repo);
    EXPECT_EQ(d.fim.path_after_prefix, f.path_after_prefix);
    EXPECT_EQ(d.fim.bos.has_value(), f.bos);
    // No control token is ever text, and each either ends a completion or is never generated.
    std::string all;
    for (const std::string& text : f.tokens) all += text;
    for (const TokenId id : d.tokenizer.encode(all)) EXPECT_LT(id, kFirst);
    for (TokenId id = 0; id < d.tokenizer.size(); ++id) {
      if (id < kFirst) {
        EXPECT_FALSE(d.fim.is_stop(id) || d.fim.is_banned(id)) << id;
      } else {
        EXPECT_NE(d.fim.is_stop(id), d.fim.is_banned(id)) << d.tokenizer.text(id);
      }
    }
    EXPECT_TRUE(d.fim.is_banned(-1));
    EXPECT_TRUE(d.fim.is_banned(d.tokenizer.size()));
    EXPECT_TRUE(std::is_sorted(d.fim.stops.begin(), d.fim.stops.end()));
    for (const auto id : {d.fim.prefix, d.fim.suffix, d.fim.middle, d.fim.file_separator}) {
      if (id.has_value()) {
        EXPECT_THAT(d.fim.stops, Contains(*id));
      }
    }
  }
};

TEST_P(KnownFamily, IsFoundByItsTokens) {
  expect_family(Detected(builder(3)), "token texts");
}

TEST_P(KnownFamily, IsFoundWhereTheFileCallsItsTokensUserDefined) {
  const Detected d(builder(4));
  EXPECT_EQ(d.fim.family, GetParam().family);
  EXPECT_EQ(d.fim.files, GetParam().files);
  std::string all;
  for (const std::string& text : GetParam().tokens) all += text;
  const std::vector<TokenId> ids = d.tokenizer.encode(all);
  EXPECT_EQ(d.tokenizer.decode(ids), all);
  for (const auto id :
       {d.fim.prefix, d.fim.suffix, d.fim.middle, d.fim.file_separator, d.fim.repo}) {
    if (id.has_value()) {
      EXPECT_THAT(ids, Not(Contains(*id)));
    }
  }
}

TEST_P(KnownFamily, IsFoundByKeys) {
  const Family& f = GetParam();
  GgufBuilder b = builder(3);
  const Detected by_text(b);
  b.set_u32(kGgml + "fim_pre_token_id", uint32_t(*by_text.fim.prefix));
  b.set_u32(kGgml + "fim_suf_token_id", uint32_t(*by_text.fim.suffix));
  if (f.middle[0] != '\0') b.set_u32(kGgml + "fim_mid_token_id", uint32_t(*by_text.fim.middle));
  expect_family(Detected(b), "metadata keys");
}

INSTANTIATE_TEST_SUITE_P(All, KnownFamily, testing::ValuesIn(kFamilies), [](const auto& info) {
  std::string name = info.param.family;
  std::erase_if(name, [](char c) { return c == '-' || c == '.'; });
  return name;
});

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

// Each fill-in-the-middle family: its tokens, order, files, stops, however the file marks its
// tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/fim_models.h"

namespace foretoken::engine {
namespace {

using test::GgufBuilder;
using testing::Contains;
using testing::Not;
using Files = Fim::Files;

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

}  // namespace
}  // namespace foretoken::engine

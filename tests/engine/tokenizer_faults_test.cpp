// Wrong tokenizer metadata: an error that names the key, or a tolerance that engine/tokenizer.h
// states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/gguf.h"
#include "engine/tokenizer.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/temporary_file.h"

namespace foretoken::engine {
namespace {

using test::GgufBuilder;
using test::raw;
using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<TokenId>;

std::vector<std::string> tokens_with(size_t id, std::string text) {
  std::vector<std::string> tokens = test::byte_vocabulary_tokens();
  tokens[id] = std::move(text);
  return tokens;
}

std::vector<std::string> merges_with(size_t rank, std::string text) {
  std::vector<std::string> merges = test::byte_vocabulary_merges();
  merges[rank] = std::move(text);
  return merges;
}

std::vector<int32_t> types_with(size_t id, int32_t type) {
  std::vector<int32_t> types(test::byte_vocabulary_tokens().size(), 1);
  std::fill(types.begin() + test::kByteVocabularyControl, types.end(), 3);
  types[id] = type;
  return types;
}

const std::string kGgml = "tokenizer.ggml.";
const size_t kTokens = test::byte_vocabulary_tokens().size();

struct Fault {
  const char* name;
  std::function<void(GgufBuilder&)> spoil;
  const char* key;  // without tokenizer.ggml.
  const char* says;
};
void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.name;
}

const Fault kFaults[] = {
    {"no_model", [](auto& b) { b.remove(kGgml + "model"); }, "model", "no tokenizer"},
    {"sentencepiece", [](auto& b) { b.set_string(kGgml + "model", "llama"); }, "model",
     "'llama' (SentencePiece) is not supported yet"},
    {"wordpiece", [](auto& b) { b.set_string(kGgml + "model", "bert"); }, "model", "'bert'"},
    {"model_escapes", [](auto& b) { b.set_string(kGgml + "model", "\x1b]0;"); }, "model",
     "\\x1B]0;"},
    {"model_number", [](auto& b) { b.set_u32(kGgml + "model", 2); }, "model", "not a string"},
    {"model_array", [](auto& b) { b.set_strings(kGgml + "model", {"gpt2"}); }, "model", "an array"},
    {"pre_unknown", [](auto& b) { b.set_string(kGgml + "pre", "qwen9"); }, "pre", "'qwen9'"},
    {"pre_empty", [](auto& b) { b.set_string(kGgml + "pre", ""); }, "pre", "not known"},
    {"pre_path", [](auto& b) { b.set_string(kGgml + "pre", "../qwen2"); }, "pre", "not known"},
    {"pre_bool", [](auto& b) { b.set_bool(kGgml + "pre", true); }, "pre", "not a string"},
    {"no_tokens", [](auto& b) { b.remove(kGgml + "tokens"); }, "tokens", "missing"},
    {"tokens_empty", [](auto& b) { b.set_strings(kGgml + "tokens", {}); }, "tokens", "no tokens"},
    {"tokens_numbers", [](auto& b) { b.set_i32s(kGgml + "tokens", {1, 2}); }, "tokens", "i32"},
    {"tokens_string", [](auto& b) { b.set_string(kGgml + "tokens", "abc"); }, "tokens",
     "not an array"},
    {"tokens_over_limit",
     [](auto& b) {
       const uint64_t count = (1 << 20) + 1;
       b.set_array(kGgml + "tokens", b.string, count, std::string(count * 8, '\0'));
     },
     "tokens", "limit"},
    {"token_of_a_letter_missing",
     [](auto& b) { b.set_strings(kGgml + "tokens", tokens_with('{', "xyz")); }, "tokens", "'{'"},
    {"token_of_a_blank_missing",
     [](auto& b) { b.set_strings(kGgml + "tokens", tokens_with(' ', "xyz")); }, "tokens", "' '"},
    {"token_of_a_line_end_missing",
     [](auto& b) { b.set_strings(kGgml + "tokens", tokens_with('\n', "xyz")); }, "tokens",
     "line end"},
    {"token_of_a_tab_missing",
     [](auto& b) { b.set_strings(kGgml + "tokens", tokens_with('\t', "xyz")); }, "tokens", "tab"},
    {"letter_is_control", [](auto& b) { b.set_i32s(kGgml + "token_type", types_with('a', 3)); },
     "tokens", "'a'"},
    {"types_too_few", [](auto& b) { b.set_i32s(kGgml + "token_type", {1, 1, 1}); }, "token_type",
     "3 token types"},
    {"types_too_many",
     [](auto& b) { b.set_i32s(kGgml + "token_type", std::vector<int32_t>(kTokens + 1, 1)); },
     "token_type", "289 token types"},
    {"types_none", [](auto& b) { b.set_i32s(kGgml + "token_type", {}); }, "token_type", "0 token"},
    {"types_bytes",
     [](auto& b) { b.set_array(kGgml + "token_type", b.u8, kTokens, std::string(kTokens, '\1')); },
     "token_type", "u8"},
    {"types_floats",
     [](auto& b) { b.set_f32s(kGgml + "token_type", std::vector<float>(kTokens, 1)); },
     "token_type", "f32"},
    {"types_strings", [](auto& b) { b.set_strings(kGgml + "token_type", tokens_with(0, "")); },
     "token_type", "string"},
    {"types_scalar", [](auto& b) { b.set_u32(kGgml + "token_type", 1); }, "token_type", "array"},
    {"type_7", [](auto& b) { b.set_i32s(kGgml + "token_type", types_with(9, 7)); }, "token_type",
     "token 9"},
    {"type_minus_1", [](auto& b) { b.set_i32s(kGgml + "token_type", types_with(9, -1)); },
     "token_type", "unknown type"},
    {"scores_too_few", [](auto& b) { b.set_f32s(kGgml + "scores", {1, 2}); }, "scores", "2 scores"},
    {"scores_bytes",
     [](auto& b) { b.set_array(kGgml + "scores", b.u8, kTokens, std::string(kTokens, 'x')); },
     "scores", "u8"},
    {"scores_doubles", [](auto& b) { b.set_array(kGgml + "scores", b.f64, 0, ""); }, "scores",
     "f64"},
    {"scores_scalar", [](auto& b) { b.set_f32(kGgml + "scores", 1); }, "scores", "not an array"},
    {"no_merges", [](auto& b) { b.remove(kGgml + "merges"); }, "merges", "missing"},
    {"merges_numbers", [](auto& b) { b.set_i32s(kGgml + "merges", {1}); }, "merges", "i32"},
    {"merges_string", [](auto& b) { b.set_string(kGgml + "merges", "a b"); }, "merges",
     "not an array"},
    {"merge_without_space", [](auto& b) { b.set_strings(kGgml + "merges", merges_with(3, "rn")); },
     "merges", "merge 3 'rn'"},
    {"merge_empty", [](auto& b) { b.set_strings(kGgml + "merges", merges_with(0, "")); }, "merges",
     "merge 0 ''"},
    {"merge_only_a_leading_space",
     [](auto& b) { b.set_strings(kGgml + "merges", merges_with(1, " u")); }, "merges",
     "has no space"},
    {"merge_control_bytes",
     [](auto& b) { b.set_strings(kGgml + "merges", merges_with(2, "\x1b[2J")); }, "merges",
     "\\x1B[2J"},
    {"bos_string", [](auto& b) { b.set_string(kGgml + "bos_token_id", "1"); }, "bos_token_id",
     "string"},
    {"eos_float", [](auto& b) { b.set_f32(kGgml + "eos_token_id", 2); }, "eos_token_id", "a float"},
    {"eot_array", [](auto& b) { b.set_i32s(kGgml + "eot_token_id", {1}); }, "eot_token_id",
     "array"},
    {"eom_bool", [](auto& b) { b.set_bool(kGgml + "eom_token_id", true); }, "eom_token_id", "bool"},
    {"unknown_string", [](auto& b) { b.set_string(kGgml + "unknown_token_id", ""); },
     "unknown_token_id", "string"},
    {"padding_float", [](auto& b) { b.set_f32(kGgml + "padding_token_id", 0); }, "padding_token_id",
     "a float"},
    {"add_bos_string", [](auto& b) { b.set_string(kGgml + "add_bos_token", "no"); },
     "add_bos_token", "string"},
    {"add_bos_number", [](auto& b) { b.set_u32(kGgml + "add_bos_token", 1); }, "add_bos_token",
     "bool"},
    {"fim_prefix_is_a_letter", [](auto& b) { b.set_u32(kGgml + "fim_pre_token_id", 'a'); },
     "fim_pre_token_id", "ordinary text"},
    {"fim_middle_string", [](auto& b) { b.set_string(kGgml + "fim_mid_token_id", "x"); },
     "fim_mid_token_id", "string"},
    {"legacy_suffix_is_a_letter", [](auto& b) { b.set_u32(kGgml + "suffix_token_id", ' '); },
     "suffix_token_id", "ordinary text"},
};

class TokenizerFault : public testing::TestWithParam<Fault> {};

TEST_P(TokenizerFault, IsAnErrorThatNamesTheKey) {
  GgufBuilder b = test::tiny_llama();
  GetParam().spoil(b);
  const test::TemporaryFile bytes(b.bytes());
  const GgufFile file(bytes.path());
  try {
    const Tokenizer tokenizer(file);
    FAIL() << "was accepted";
  } catch (const ModelError& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with(bytes.path() + ": ")) << message;
    EXPECT_THAT(message, HasSubstr("(field " + kGgml + GetParam().key + ")"));
    EXPECT_THAT(message, HasSubstr(GetParam().says));
    EXPECT_THAT(message, HasSubstr("; "));
    for (const char c : message) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, TokenizerFault, testing::ValuesIn(kFaults),
                         [](const auto& info) { return std::string(info.param.name); });

struct Tolerance {
  const char* name;
  std::function<void(GgufBuilder&)> change;
};
void PrintTo(const Tolerance& t, std::ostream* out) {
  *out << t.name;
}

const Tolerance kTolerated[] = {
    {"nothing_changed", [](auto&) {}},
    {"bos_past_the_end", [](auto& b) { b.set_u32(kGgml + "bos_token_id", 100000); }},
    {"eos_minus_1", [](auto& b) { b.set_i32(kGgml + "eos_token_id", -1); }},
    {"padding_huge", [](auto& b) { b.set("padding_token_id", b.u64, raw(~0ull)); }},
    {"fim_past_the_end", [](auto& b) { b.set_u32(kGgml + "fim_pre_token_id", ~0u); }},
    {"no_special_ids",
     [](auto& b) {
       b.remove(kGgml + "bos_token_id")
           .remove(kGgml + "eos_token_id")
           .remove(kGgml + "add_bos_token");
     }},
    {"add_bos_without_bos",
     [](auto& b) {
       b.set_bool(kGgml + "add_bos_token", true).set_u32(kGgml + "bos_token_id", 99999);
     }},
    {"no_types", [](auto& b) { b.remove(kGgml + "token_type"); }},
    {"types_unsigned",
     [](auto& b) {
       std::string types;
       for (const int32_t type : types_with(0, 1)) types += raw(uint32_t(type));
       b.set_array(kGgml + "token_type", b.u32, kTokens, types);
     }},
    {"type_0", [](auto& b) { b.set_i32s(kGgml + "token_type", types_with('a', 0)); }},
    {"byte_type_of_a_letter",
     [](auto& b) { b.set_i32s(kGgml + "token_type", types_with('a', 6)); }},
    {"scores", [](auto& b) { b.set_f32s(kGgml + "scores", std::vector<float>(kTokens, 0)); }},
    {"token_twice", [](auto& b) { b.set_strings(kGgml + "tokens", tokens_with(285, "re")); }},
    {"padding_twice", [](auto& b) { b.set_strings(kGgml + "tokens", tokens_with(285, "[PAD0]")); }},
    {"token_empty", [](auto& b) { b.set_strings(kGgml + "tokens", tokens_with(284, "")); }},
    {"token_invalid_utf8",
     [](auto& b) { b.set_strings(kGgml + "tokens", tokens_with(284, "\xff\xfe")); }},
    {"token_megabytes",
     [](auto& b) { b.set_strings(kGgml + "tokens", tokens_with(284, std::string(4 << 20, 'z'))); }},
    {"merges_of_nothing_known",
     [](auto& b) {
       std::vector<std::string> merges = test::byte_vocabulary_merges();
       merges.insert(merges.end(), {"q zz", "qzz q", "日 本", "\xff x", "x ", "a b c"});
       b.set_strings(kGgml + "merges", merges);
     }},
    {"merge_twice",
     [](auto& b) {
       std::vector<std::string> merges = test::byte_vocabulary_merges();
       for (const std::string& merge : test::byte_vocabulary_merges()) merges.push_back(merge);
       b.set_strings(kGgml + "merges", merges);
     }},
    {"unknown_keys", [](auto& b) { b.set_string(kGgml + "future", "x").set_i32s("x.y", {1}); }},
    {"hostile_template", [](auto& b) { b.set_string("tokenizer.chat_template", "{{ 1/0 }}"); }},
};

class TokenizerTolerance : public testing::TestWithParam<Tolerance> {};

TEST_P(TokenizerTolerance, GivesTheSameTokens) {
  GgufBuilder b = test::tiny_llama();
  GetParam().change(b);
  const test::TemporaryFile bytes(b.bytes());
  const GgufFile file(bytes.path());
  const Tokenizer tokenizer(file);
  const std::string text = "def f(x):\n    return x if x else ab\xff\n";
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  const test::TemporaryFile unchanged(test::tiny_llama().bytes());
  EXPECT_EQ(tokenizer.encode(text), Tokenizer(GgufFile(unchanged.path())).encode(text));
}

INSTANTIATE_TEST_SUITE_P(Table, TokenizerTolerance, testing::ValuesIn(kTolerated),
                         [](const auto& info) { return std::string(info.param.name); });

struct Loaded {
  explicit Loaded(const GgufBuilder& b) : bytes(b.bytes()), file(bytes.path()), tokenizer(file) {}
  test::TemporaryFile bytes;
  GgufFile file;
  Tokenizer tokenizer;
};

TEST(SpecialIds, AreAbsentWhereTheyNameNoToken) {
  GgufBuilder b = test::tiny_llama();
  b.set_u32(kGgml + "bos_token_id", 288).set_i32(kGgml + "eos_token_id", -1);
  b.set_bool(kGgml + "add_bos_token", true);
  const Loaded loaded(b);
  EXPECT_EQ(loaded.tokenizer.bos(), std::nullopt);
  EXPECT_EQ(loaded.tokenizer.eos(), std::nullopt);
  EXPECT_FALSE(loaded.tokenizer.add_bos());
}

TEST(SpecialIds, DefaultTo11OnlyWhereThatIsAControlToken) {
  GgufBuilder b = test::tiny_llama();
  b.remove(kGgml + "bos_token_id").remove(kGgml + "eos_token_id");
  EXPECT_EQ(Loaded(b).tokenizer.eos(), std::nullopt);
  b.set_i32s(kGgml + "token_type", types_with(11, 3));
  EXPECT_EQ(Loaded(b).tokenizer.eos(), 11);
  EXPECT_EQ(Loaded(b).tokenizer.bos(), 11);
}

TEST(SpecialIds, BosIsAddedByDefaultInTheLlama3Group) {
  GgufBuilder b = test::tiny_llama();
  b.remove(kGgml + "add_bos_token");
  EXPECT_FALSE(Loaded(b).tokenizer.add_bos());
  EXPECT_TRUE(Loaded(b.set_string(kGgml + "pre", "llama-bpe")).tokenizer.add_bos());
  EXPECT_FALSE(Loaded(b.set_bool(kGgml + "add_bos_token", false)).tokenizer.add_bos());
  EXPECT_EQ(Loaded(b.remove(kGgml + "pre")).tokenizer.pre(), "default");
}

TEST(Types, ControlSpellingsCountAsControlWhateverTheFileSays) {
  GgufBuilder b = test::tiny_llama();
  const std::vector<std::string> odd = {"<|fim_prefix|>", "<｜fim▁hole｜>", "<|User|>", "[PAD284]",
                                        "<tool_call>",    "</s>",           "<unused7>"};
  std::vector<std::string> tokens = test::byte_vocabulary_tokens();
  std::vector<int32_t> types = types_with(0, 1);
  for (size_t i = 0; i < odd.size(); ++i) {
    tokens[281 + i] = odd[i];
    types[281 + i] = 4;
  }
  b.set_strings(kGgml + "tokens", tokens).set_i32s(kGgml + "token_type", types);
  const Loaded loaded(b);
  const auto type = [&](TokenId id) { return loaded.tokenizer.type(id); };
  EXPECT_EQ(type(281), TokenType::control);
  EXPECT_EQ(type(282), TokenType::control);
  EXPECT_EQ(type(283), TokenType::control);
  EXPECT_EQ(type(284), TokenType::unused);
  EXPECT_EQ(type(285), TokenType::user_defined);
  EXPECT_EQ(type(286), TokenType::control);
  EXPECT_EQ(type(287), TokenType::control);
  std::string text;
  for (const std::string& t : odd) text += t;
  const Ids ids = loaded.tokenizer.encode(text);
  EXPECT_EQ(loaded.tokenizer.decode(ids), text);
  for (const TokenId id : ids) EXPECT_TRUE(id == 285 || id < test::kByteVocabularyControl) << id;
  EXPECT_THAT(loaded.tokenizer.encode("a<tool_call>b"), ElementsAre('a', 285, 'b'));
}

TEST(Merges, ThatSpellAControlTokenDoNotMakeIt) {
  GgufBuilder b = test::tiny_llama();
  std::vector<std::string> tokens = test::byte_vocabulary_tokens();
  tokens[281] = "<x>";  // control
  b.set_strings(kGgml + "tokens", tokens).set_strings(kGgml + "merges", {"< x", "<x >"});
  b.set_string(kGgml + "pre", "gpt-2");
  const Loaded loaded(b);
  EXPECT_THAT(loaded.tokenizer.encode("<x>"), ElementsAre('<', 'x', '>'));
}

TEST(Merges, MayGoThroughStringsThatAreNoTokens) {
  GgufBuilder b = test::tiny_llama();
  b.set_strings(kGgml + "tokens", tokens_with(284, "xyz"));
  b.set_i32s(kGgml + "token_type", types_with(284, 1));
  b.set_strings(kGgml + "merges", {"x y", "xy z"});
  const Loaded loaded(b);
  EXPECT_THAT(loaded.tokenizer.encode("xyz"), ElementsAre(284));
  EXPECT_THAT(loaded.tokenizer.encode("xya"), ElementsAre('x', 'y', 'a'));
}

TEST(WholePieces, AreTakenBeforeMergesInTheLlama3Group) {
  GgufBuilder b = test::tiny_llama();
  b.set_strings(kGgml + "tokens", tokens_with(284, "qwz"));  // no merge leads to it
  b.set_i32s(kGgml + "token_type", types_with(284, 1));
  EXPECT_THAT(Loaded(b).tokenizer.encode("qwz"), ElementsAre('q', 'w', 'z'));
  b.set_string(kGgml + "pre", "llama-bpe");
  EXPECT_THAT(Loaded(b).tokenizer.encode("qwz"), ElementsAre(284));
}

TEST(Bytes, WithoutATokenAreLeftOut) {
  GgufBuilder b = test::tiny_llama();
  b.set_strings(kGgml + "tokens", tokens_with(0xF1, "xyz"));
  const Loaded loaded(b);
  EXPECT_EQ(loaded.tokenizer.decode(loaded.tokenizer.encode("a\xf1 b")), "a b");
  EXPECT_THAT(loaded.tokenizer.compatible("\xf1"), ElementsAre());
}

}  // namespace
}  // namespace foretoken::engine

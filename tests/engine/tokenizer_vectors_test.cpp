// Real vocabularies: token ids as llama.cpp's conformance files and the models' own tokenizers
// give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "engine/gguf.h"
#include "engine/tokenizer.h"

namespace foretoken::engine {
namespace {

using testing::ElementsAreArray;
using Ids = std::vector<TokenId>;

const std::string kFolder = FORETOKEN_TEST_DATA "/tokenizers/";

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Case {
  std::string text;
  Ids ids;
};

std::vector<Case> conformance_cases(const std::string& name) {
  const std::string texts = contents(kFolder + name + ".inp"),
                    separator = "\n__ggml_vocab_test__\n";
  std::istringstream lines(contents(kFolder + name + ".out"));
  std::vector<Case> cases;
  size_t begin = 0;
  for (size_t end; (end = texts.find(separator, begin)) != texts.npos;
       begin = end + separator.size()) {
    std::string line;
    std::getline(lines, line);
    std::istringstream numbers(line);
    Case c{texts.substr(begin, end - begin), {}};
    for (TokenId id; numbers >> id;) c.ids.push_back(id);
    cases.push_back(std::move(c));
  }
  return cases;
}

/// The real model; skips the test, saying so, where the machine has none.
std::string qwen_path() {
  const char* folder = std::getenv("FORETOKEN_TEST_MODELS");
  return folder != nullptr ? std::string(folder) + "/qwen2.5-coder-0.5b-q4_k_m.gguf" : "";
}
#define SKIP_WITHOUT_QWEN()                                                                   \
  if (qwen_path().empty())                                                                    \
  GTEST_SKIP()                                                                                \
      << "FORETOKEN_TEST_MODELS does not name a folder with qwen2.5-coder-0.5b-q4_k_m.gguf: " \
         "the Qwen vocabulary is not tested"

void expect_conformance(const std::string& model, const std::string& name) {
  const GgufFile file(model);
  const Tokenizer tokenizer(file);
  const std::vector<Case> cases = conformance_cases(name);
  ASSERT_EQ(cases.size(), 46u);
  for (const Case& c : cases) {
    EXPECT_THAT(tokenizer.encode(c.text), ElementsAreArray(c.ids)) << "[" << c.text << "]";
    EXPECT_EQ(tokenizer.decode(c.ids), c.text);
  }
}

class Vocabulary : public testing::TestWithParam<const char*> {};

TEST_P(Vocabulary, GivesLlamaCppsIds) {
  const std::string name = GetParam();
  expect_conformance(kFolder + name + ".gguf", name);
}

INSTANTIATE_TEST_SUITE_P(All, Vocabulary,
                         testing::Values("deepseek-coder", "deepseek-llm", "falcon", "gpt-2", "mpt",
                                         "refact", "starcoder"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(QwenVocabulary, GivesLlamaCppsIds) {
  SKIP_WITHOUT_QWEN();
  expect_conformance(qwen_path(), "qwen2");
}

const std::string kAdd = "def add(a, b):\n    return ";
const std::string kPrint = "\n\nprint(add(1, 23))\n";
const std::string kWindows = "if (x) {\r\n\treturn 42;\r\n}\r\n";
const std::string kLoop = "for (int i = 0; i < 1000; ++i) {\n\t\tsum += arr[i];\n\t}\n";
const std::string kWide = "x = {'a': \"été\", 'b': '日本'}  # ok\n";

void expect_golden(const std::string& model, const std::vector<Case>& cases) {
  const GgufFile file(model);
  const Tokenizer tokenizer(file);
  for (const Case& c : cases) {
    EXPECT_THAT(tokenizer.encode(c.text), ElementsAreArray(c.ids)) << c.text;
    EXPECT_EQ(tokenizer.decode(c.ids), c.text);
  }
}

TEST(Golden, Starcoder) {
  expect_golden(
      kFolder + "starcoder.gguf",
      {{kAdd, {610, 1035, 45, 102, 49, 342, 731, 303, 461, 244}},
       {kPrint, {222, 222, 1243, 45, 688, 45, 54, 49, 244, 55, 56, 509, 222}},
       {kWindows, {344, 327, 125, 46, 320, 455, 221, 620, 244, 57, 55, 64, 225, 222, 130, 455}}});
}

TEST(Golden, Refact) {
  expect_golden(kFolder + "refact.gguf",
                {{kAdd, {589, 1015, 26, 83, 30, 323, 711, 284, 442, 225}},
                 {kPrint, {203, 203, 1216, 26, 669, 26, 35, 30, 225, 36, 37, 490, 203}}});
}

TEST(Golden, DeepseekCoder) {
  expect_golden(
      kFolder + "deepseek-coder.gguf",
      {{kAdd, {1551, 957, 7, 64, 11, 270, 1772, 185, 315, 967, 207}},
       {kPrint, {185, 185, 4128, 7, 1761, 7, 16, 11, 207, 17, 18, 1435, 185}},
       {kWindows,
        {351, 334, 87, 8, 507, 188, 185, 3404, 207, 19, 17, 26, 188, 185, 92, 188, 185}}});
}

TEST(Golden, Gpt2) {
  expect_golden(kFolder + "gpt-2.gguf",
                {{kAdd, {4299, 751, 7, 64, 11, 275, 2599, 198, 220, 220, 220, 1441, 220}},
                 {kPrint, {198, 198, 4798, 7, 2860, 7, 16, 11, 2242, 4008, 198}}});
}

TEST(Golden, Qwen) {
  SKIP_WITHOUT_QWEN();
  expect_golden(qwen_path(), {{kAdd, {750, 912, 2877, 11, 293, 982, 262, 470, 220}},
                              {kPrint, {271, 1350, 25906, 7, 16, 11, 220, 17, 18, 1171}},
                              {kWindows, {333, 320, 87, 8, 972, 853, 220, 19, 17, 463, 1771}},
                              {kLoop, {1958, 320,   396,  600,  284, 220, 15,   26, 600, 366,
                                       220,  16,    15,   15,   15,  26,  3443, 72, 8,   341,
                                       197,  31479, 1421, 2890, 989, 935, 197,  532}},
                              {kWide,
                               {87, 284, 5360, 64, 1210, 330, 38783, 497, 364, 65, 1210, 364,
                                101059, 8275, 220, 671, 5394, 198}}});
}

TEST(ControlText, NeverBecomesControlTokens) {
  for (const char* name : {"starcoder", "refact", "deepseek-coder"}) {
    const GgufFile file(kFolder + name + ".gguf");
    const Tokenizer tokenizer(file);
    const std::string text =
        "<|endoftext|><fim_prefix><fim_middle><fim_suffix><fim_pad><file_sep><filename><reponame>"
        "<｜begin▁of▁sentence｜><｜fim▁hole｜><｜fim▁begin｜><｜fim▁end｜><|User|><|EOT|><pad>"
        "[PAD32022][PAD49152]";
    const Ids ids = tokenizer.encode(text);
    EXPECT_EQ(tokenizer.decode(ids), text);
    for (const TokenId id : ids) {
      EXPECT_EQ(tokenizer.type(id), TokenType::normal) << name << " " << tokenizer.text(id);
    }
  }
}

TEST(UserDefined, RunsOfBlanksMatchLongestFirst) {
  const GgufFile file(kFolder + "mpt.gguf");
  const Tokenizer tokenizer(file);
  for (int blanks = 2; blanks <= 24; ++blanks) {
    const Ids ids = tokenizer.encode(std::string(size_t(blanks), ' '));
    ASSERT_EQ(ids.size(), 1u) << blanks;
    EXPECT_EQ(ids[0], 50278 - blanks);
    EXPECT_EQ(tokenizer.type(ids[0]), TokenType::user_defined);
  }
  const std::string text = "a" + std::string(30, ' ') + "b";
  const Ids ids = tokenizer.encode(text);
  EXPECT_EQ(ids[1], 50254);  // 24
  EXPECT_EQ(ids[2], 50272);  // 6
  EXPECT_EQ(tokenizer.decode(ids), text);
}

}  // namespace
}  // namespace foretoken::engine

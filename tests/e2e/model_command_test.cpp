// `foretoken model` and `foretoken doctor` as people and scripts use them.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/gguf_builder.h"
#include "tests/support/program.h"

namespace foretoken::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

const std::string kTiny = FORETOKEN_TEST_DATA "/tiny/";

std::string control_bytes(const std::string& text) {  // but for line ends
  std::string odd;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') odd += c;
  }
  return odd;
}

TEST(ModelCommand, ListShowsWhatCanBeHadAndWhatAnswers) {
  const Program p;
  const Ran table = p.run("model list");
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(table.out, HasSubstr("* pocket"));
  EXPECT_THAT(table.out, HasSubstr("qwen2.5-coder-0.5b"));
  const json rows = json::parse(p.run("model list --json").out);
  for (const json& row : rows) {
    for (const char* field :
         {"name", "title", "licence", "bytes", "state", "sha256", "path", "runs"}) {
      EXPECT_TRUE(row.contains(field)) << field;
    }
    EXPECT_EQ(row["current"].get<bool>(), row["name"] == "pocket");
  }
}

TEST(ModelCommand, InfoTellsShapeWeightsAndFim) {
  const Program p;
  const json pocket = json::parse(p.run("model info pocket --json").out);
  EXPECT_EQ(pocket["architecture"], "llama");
  EXPECT_EQ(pocket["layers"], 8);
  EXPECT_EQ(pocket["vocabulary"], 8192);
  EXPECT_EQ(pocket["weights"]["Q8_0"], 57);
  EXPECT_EQ(pocket["fim"]["order"], "prefix-suffix-middle");
  EXPECT_EQ(pocket["fim"]["found_by"], "metadata keys");
  EXPECT_EQ(pocket["licence"], "Apache-2.0");
  const Ran text = p.run("model info");
  EXPECT_THAT(text.out, HasSubstr("8 layers, width 256"));
  EXPECT_THAT(text.out, HasSubstr("<|endoftext|>"));
}

TEST(ModelCommand, WhatCannotRunIsStillDescribed) {
  const Program p;
  const json gemma = json::parse(p.run("model info " + kTiny + "gemma-f32.gguf --json").out);
  EXPECT_EQ(gemma["architecture"], "gemma");
  EXPECT_EQ(gemma["runs"], false);
  EXPECT_THAT(gemma["problem"].get<std::string>(), HasSubstr("not supported"));
}

TEST(ModelCommand, CheckIsOneLineEitherWay) {
  const Program p;
  const Ran good = p.run("model check " + kTiny + "qwen2-q8_0.gguf");
  EXPECT_EQ(good.status, 0) << good.errors;
  EXPECT_THAT(good.out, MatchesRegex("ok: qwen2-q8_0 [^\n]*\n"));
  EXPECT_THAT(p.run("model check").out, HasSubstr("SHA-256 as published"));
  p.folder().write("text.gguf", "no model at all");
  for (const std::string& name :
       {kTiny + "gemma-f32.gguf", std::string("text.gguf"), std::string("absent.gguf"),
        std::string("."), std::string("nosuch")}) {
    const Ran bad = p.run("model check " + name);
    EXPECT_EQ(bad.status, 1) << name;
    EXPECT_THAT(bad.out, IsEmpty());
    EXPECT_THAT(bad.errors, MatchesRegex("foretoken: [^\n]*\n")) << name;
  }
}

TEST(ModelCommand, WhatAFileSaysIsInert) {
  const Program p;
  GgufBuilder builder;
  builder.set_string("general.architecture", "../../\x1b[31mllama\n");
  builder.set_string("general.name", "\x1b]0;owned\x07 \xe2\x80\xaegpj.exe\r\xff");
  builder.set_string("general.license", "\x1b[2J");
  builder.set_string("tokenizer.chat_template", "{{ 1/0 }}{% include '/etc/passwd' %}");
  p.folder().write("hostile.gguf", builder.bytes());
  for (const char* words :
       {"model info hostile.gguf", "model info hostile.gguf --json", "model check hostile.gguf",
        "complete hostile.gguf:1:1 --model hostile.gguf", "model info '\x1b[31m.gguf'",
        "doctor --model hostile.gguf"}) {
    const Ran ran = p.run(words);
    EXPECT_THAT(control_bytes(ran.out + ran.errors), IsEmpty()) << words;
    EXPECT_THAT(ran.out + ran.errors, Not(HasSubstr("\xe2\x80\xae"))) << words;
  }
}

TEST(ModelCommand, PullAsksNothingOfTheNetworkForWhatIsHere) {
  const Program p;
  const Ran here = p.run("model pull pocket");
  EXPECT_EQ(here.status, 0);
  EXPECT_THAT(here.errors, HasSubstr("pocket is here already"));
  const Ran unknown = p.run("model pull qwen2.5-coder-0.6b");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.errors, HasSubstr("did you mean"));
  EXPECT_EQ(p.run("model").status, 2);
  EXPECT_EQ(p.run("model pull --nosuch").status, 2);
}

TEST(Doctor, SaysWhatTheMachineCanDo) {
  const Program p;
  const Ran text = p.run("doctor");
  EXPECT_EQ(text.status, 0) << text.errors;
  EXPECT_THAT(text.out, HasSubstr("Ready to complete."));
  EXPECT_THAT(text.out, HasSubstr("pocket answers"));
  std::istringstream lines(text.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  const json report = json::parse(p.run("doctor --json").out);
  EXPECT_EQ(report["ready"], true);
  EXPECT_EQ(report["model"]["name"], "pocket");
  int used = 0;
  for (const json& backend : report["backends"]) used += backend["used"].get<bool>();
  EXPECT_EQ(used, 1);
}

TEST(Doctor, NamesWhatStandsInTheWay) {
  const Program p;
  const Ran backend = p.run("doctor --backend nosuch");
  EXPECT_EQ(backend.status, 1);
  EXPECT_THAT(backend.out, HasSubstr("nosuch"));
  const Ran model = p.run("doctor --model absent.gguf");
  EXPECT_EQ(model.status, 1);
  EXPECT_THAT(model.out, HasSubstr("absent.gguf"));
}

}  // namespace
}  // namespace foretoken::test

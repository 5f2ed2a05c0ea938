// The command line as scripts use it: what is printed where, and the exit status.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"

namespace foretoken {
namespace {

using nlohmann::json;
using test::Program;
using test::Ran;

const char kPython[] = "def area(width, height):\n    \"\"\"Area.\"\"\"\n    return wid\n\n\nprint(area(3, 4))\n";

int lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

TEST(Complete, PrintsTheTextAlone) {
  const Program p;
  p.folder().write("a.py", kPython);
  const Ran ran = p.run("complete a.py:3:15");
  EXPECT_EQ(ran.status, 0) << ran.errors;
  EXPECT_TRUE(ran.out.starts_with("th")) << ran.out;
  EXPECT_EQ(lines(ran.out), 1);
  EXPECT_NE(ran.errors.find("foretoken model pull"), std::string::npos);  // how to get a better model
}

TEST(Complete, GivesOneJsonObjectWithEveryPromisedField) {
  const Program p;
  p.folder().write("a.py", kPython);
  const Ran ran = p.run("complete a.py:3:15 --json --card --model pocket");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json answer = json::parse(ran.out);
  EXPECT_EQ(answer["range"]["start"], (json{{"line", 3}, {"col", 15}}));
  EXPECT_EQ(answer["source"], "engine");
  EXPECT_EQ(answer["model"], "pocket");
  for (const char* field : {"queue_ms", "prefill_ms", "decode_ms", "ttft_ms", "total_ms", "prompt_tokens",
                            "reused_tokens", "new_tokens", "output_tokens", "drafted_tokens",
                            "accepted_tokens"}) {
    EXPECT_TRUE(answer["timings"].contains(field)) << field;
  }
  EXPECT_EQ(answer["timings"]["prompt_tokens"],
            answer["timings"]["reused_tokens"].get<int>() + answer["timings"]["new_tokens"].get<int>());
  for (const json& row : answer["card"]) {
    for (const char* field : {"tier", "kind", "path", "lines", "rendition", "tokens", "reused"}) {
      EXPECT_TRUE(row.contains(field)) << field;
    }
  }
}

TEST(Complete, ReadsTheFileFromStdin) {
  const Program p;
  p.folder().write("a.py", kPython);
  const Ran file = p.run("complete a.py:3:15 --model pocket");
  const Ran piped = p.run("complete -:3:15 --path a.py --model pocket", kPython);
  EXPECT_EQ(piped.status, 0) << piped.errors;
  EXPECT_EQ(piped.out, file.out);
}

struct Wrong {
  const char* arguments;
  int status;
  const char* says;
};
const Wrong kWrong[] = {
    {"complete a.py:3", 2, "FILE:LINE:COL"},
    {"complete", 2, "FILE:LINE:COL"},
    {"complete a.py:0:1", 2, "FILE:LINE:COL"},
    {"complete a.py:99:1", 1, "line 99 is past the end"},
    {"complete a.py:1:999", 1, "column 999 is past the end"},
    {"complete missing.py:1:1", 1, "missing.py"},
    {"complete folder:1:1", 1, "not a regular file"},
    {"complete a.py:1:1 --model missing.gguf", 1, "missing.gguf"},
    {"complete a.py:1:1 --model a.py", 1, "no GGUF file"},
    {"complete a.py:1:1 --backend nosuch", 1, "nosuch"},
    {"complete a.py:1:1 --nosuch", 2, "--nosuch"},
    {"nosuch", 2, "nosuch"},
    {"complete $'x\033[31m\ny:1:1'", 1, "x\\x1B[31m\\x0Ay"},  // escaped, one line
    {"complete a.py:1:1 --kv-bytes -1", 2, "--kv-bytes"},
    {"complete a.py:1:1 --root nowhere", 2, "--root"},
    {"complete a.py:1:1 --model ''", 2, "--model"},
    {"model logits --model pocket --ids 1 --ids-file a.py", 2, "--ids-file"},
    {"model logits --model pocket --ids-file folder", 1, "folder"},
    {"", 2, "subcommand"},
};

TEST(Complete, SaysWhatIsWrongInOneLine) {
  const Program p;
  p.folder().write("a.py", kPython);
  std::filesystem::create_directories(p.folder() / "folder");
  for (const Wrong& wrong : kWrong) {
    const Ran ran = p.run(wrong.arguments);
    EXPECT_EQ(ran.status, wrong.status) << wrong.arguments << "\n" << ran.errors;
    EXPECT_NE(ran.errors.find(wrong.says), std::string::npos) << wrong.arguments << "\n" << ran.errors;
    EXPECT_EQ(ran.out, "") << wrong.arguments;
    EXPECT_EQ(ran.errors.find('\x1b'), std::string::npos) << wrong.arguments;
  }
}

TEST(CompleteJsonLines, AnswersInOrderAndErrorsAsLines) {
  const Program p;
  const json typed = {{"id", 1}, {"path", "a.py"}, {"prefix", "def area(width, height):\n    return wid"}, {"suffix", "\n"}};
  std::string input = typed.dump() + "\nnonsense\n" +
                      json{{"id", "x"}, {"path", "a.py"}, {"text", "a\n"}, {"line", 9}, {"col", 1}}.dump() + "\n" +
                      json{{"id", 3}, {"text", "foo(bar())\n"}, {"line", 1}, {"col", 9}, {"raw", "g(x)"}}.dump() + "\n" +
                      json{{"id", 4}, {"text", 7}}.dump() + "\n" +
                      json{{"id", 5}, {"path", "a.py"}, {"prefix", "def area(width, height):\n    return widt"}, {"suffix", "\n"}}.dump() + "\n" +
                      json{{"id", 6}, {"path", "a.py"}, {"from_engine", true}, {"prefix", "def area(width, height):\n    return widt"}, {"suffix", "\n"}}.dump() + "\n";
  const Ran ran = p.run("complete --jsonl --model pocket", input);
  EXPECT_EQ(ran.status, 0) << ran.errors;
  std::vector<json> answers;
  std::istringstream stream(ran.out);
  for (std::string line; std::getline(stream, line);) answers.push_back(json::parse(line));
  ASSERT_EQ(answers.size(), 7u);
  EXPECT_EQ(answers[0]["id"], 1);
  EXPECT_TRUE(answers[0]["text"].get<std::string>().starts_with("th"));
  EXPECT_TRUE(answers[1]["id"].is_null());
  EXPECT_TRUE(answers[1].contains("error"));
  EXPECT_EQ(answers[2]["id"], "x");
  EXPECT_TRUE(answers[2].contains("error"));
  EXPECT_EQ(answers[3]["text"], "g(x)");
  EXPECT_TRUE(answers[4].contains("error"));
  EXPECT_EQ(answers[5]["source"], "typed_through");
  EXPECT_EQ("t" + answers[5]["text"].get<std::string>(), answers[0]["text"]);
  EXPECT_EQ(answers[6]["source"], "engine");
  EXPECT_GT(answers[6]["timings"]["reused_tokens"].get<int>(), 5);
  EXPECT_LE(answers[6]["timings"]["new_tokens"].get<int>(), 6);
}

TEST(CompleteJsonLines, ShowsTheModelOtherText) {
  const Program p;
  const json request = {{"path", "a.py"}, {"prefix", "x = "}, {"suffix", "\n"}, {"dump_prompt", true}, {"card", true},
                        {"context", {{{"path", "b.py"}, {"text", "LIMIT = 3"}}}}};
  const json wrong = {{"path", "a.py"}, {"prefix", "x = "}, {"suffix", ""}, {"context", "b.py"}};
  const Ran ran = p.run("complete --jsonl --model pocket", request.dump() + "\n" + wrong.dump() + "\n");
  std::istringstream stream(ran.out);
  std::string first, second;
  std::getline(stream, first);
  std::getline(stream, second);
  const std::string prompt = json::parse(first)["prompt"];
  EXPECT_NE(prompt.find("b.py\nLIMIT = 3\n"), std::string::npos) << prompt;
  EXPECT_LT(prompt.find("LIMIT"), prompt.find("a.py"));
  EXPECT_EQ(json::parse(second)["error"], "context must be a list of {path, text}");
}

TEST(CompleteJsonLines, WithoutTheCacheSaysTheSameAndReusesNothing) {
  const Program p;
  std::string input;
  const std::string text = "def area(width, height):\n    return width * height\n";
  for (size_t n = 30; n < text.size(); ++n) {
    input += json{{"id", n}, {"path", "a.py"}, {"prefix", text.substr(0, n)}, {"suffix", "\nprint(1)\n"}}.dump() + "\n";
  }
  const Ran warm = p.run("complete --jsonl --model pocket", input);
  const Ran cold = p.run("complete --jsonl --no-cache --model pocket", input);
  std::istringstream a(warm.out), b(cold.out);
  for (std::string x, y; std::getline(a, x) && std::getline(b, y);) {
    const json w = json::parse(x), c = json::parse(y);
    EXPECT_EQ(w["text"], c["text"]) << w["id"];
    EXPECT_EQ(c["timings"]["reused_tokens"], 0);
  }
}

TEST(Model, TokenizesBothWays) {
  const Program p;
  const Ran ids = p.run("model tokenize --model pocket", "def f(x):\n  <|fim_middle|>\n");
  ASSERT_EQ(ids.status, 0) << ids.errors;
  const json array = json::parse(ids.out);
  EXPECT_GT(array.size(), 8u);
  std::string list;
  for (const json& id : array) list += (list.empty() ? "" : ",") + id.dump();
  EXPECT_EQ(p.run("model tokenize --model pocket --ids " + list).out, "def f(x):\n  <|fim_middle|>\n");
  EXPECT_EQ(p.run("model tokenize --model pocket --jsonl", "\"a b\"\n[64]\n").status, 0);
  EXPECT_EQ(p.run("model tokenize --model pocket --ids 1,x").status, 1);
  EXPECT_EQ(p.run("model tokenize --model pocket --ids 99999999").status, 1);
}

TEST(Output, ThatCannotBeWrittenIsAnErrorOfEveryCommand) {
  const Program p;
  p.folder().write("a.py", kPython);
  for (const char* command : {"complete a.py:3:15 --model pocket", "doctor", "doctor --json", "model list",
                              "model info pocket --json", "model check pocket", "--help", "--version",
                              "model tokenize --model pocket"}) {
    const Ran ran = p.run(std::string(command) + " >/dev/full");
    EXPECT_EQ(ran.status, 1) << command;
    EXPECT_NE(ran.errors.find("foretoken: stdout: "), std::string::npos) << command << "\n" << ran.errors;
  }
}

TEST(Input, ThatIsClosedIsAnErrorAndNeverAnotherFile) {
  const Program p;
  for (const char* command : {"model tokenize --model pocket", "model tokenize --jsonl --model pocket",
                              "complete --jsonl --model pocket", "complete -:1:1 --model pocket"}) {
    const Ran ran = p.run(std::string(command) + " <&-");
    EXPECT_EQ(ran.status, 1) << command;
    EXPECT_EQ(ran.out, "") << command;
    EXPECT_NE(ran.errors.find("stdin"), std::string::npos) << command << "\n" << ran.errors;
  }
}

TEST(Settings, ThatCannotBeReadAreToldAndDoWithout) {
  const Program p;
  p.folder().write("a.py", kPython);
  std::filesystem::create_directories(p.folder() / "home/config/foretoken/config.json");
  EXPECT_EQ(p.run("complete a.py:3:15 --model pocket").status, 0);
  const Ran doctor = p.run("doctor");
  EXPECT_NE((doctor.out + doctor.errors).find("config.json"), std::string::npos);
}

TEST(Model, TokenizesTheLinesAfterABadOne) {
  const Program p;
  const Ran ran = p.run("model tokenize --jsonl --model pocket", "\"a\"\n[-1]\n{\n\"b\"\n");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(lines(ran.out), 4);
}

TEST(Model, GivesLogits) {
  const Program p;
  const Ran ran = p.run("model logits --model pocket --backend reference --ids 1,2,3 --greedy 3 --top 4 --all");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json out = json::parse(ran.out);
  EXPECT_EQ(out["top"].size(), 4u);
  EXPECT_EQ(out["greedy"].size(), 3u);
  EXPECT_EQ(out["greedy"][0], out["top"][0][0]);
  EXPECT_EQ(out["backend"], "reference");
  EXPECT_EQ(out["logits"].size(), 8192u);
  EXPECT_EQ(p.run("model logits --model pocket").status, 2);
}

TEST(Bench, ReportsSpeedsAndShares) {
  const Program p;
  const Ran ran = p.run("bench model --model pocket --prompt-tokens 32 --output-tokens 4 --rounds 1 --json");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json out = json::parse(ran.out);
  for (const char* field : {"prefill_tokens_per_s", "decode_tokens_per_s", "bytes_per_decoded_token",
                            "decode_share_of_memory_peak", "prefill_share_of_arithmetic_peak"}) {
    EXPECT_GT(out[field].get<double>(), 0) << field;
  }
}

}  // namespace
}  // namespace foretoken

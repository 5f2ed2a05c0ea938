// What holds for every text: exact round trip, agreement with a dull byte-pair merger, pieces,
// tokens compatible with a beginning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <random>
#include <thread>

#include "engine/byte_alphabet.h"
#include "engine/gguf.h"
#include "engine/tokenizer.h"
#include "engine/unicode.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/temporary_file.h"

namespace foretoken::engine {
namespace {

using testing::ElementsAreArray;
using Ids = std::vector<TokenId>;

/// A vocabulary of the test data, or the byte vocabulary ("bytes").
struct Loaded {
  static std::string path_of(const std::string& name, test::TemporaryFile& bytes) {
    return name == "bytes" ? bytes.path() : FORETOKEN_TEST_DATA "/tokenizers/" + name + ".gguf";
  }
  explicit Loaded(const std::string& name)
      : bytes(test::tiny_llama().bytes()), file(path_of(name, bytes)), tokenizer(file) {}
  test::TemporaryFile bytes;
  GgufFile file;
  Tokenizer tokenizer;
};

class Texts {
 public:
  explicit Texts(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t n) { return random_() % n; }

  std::string next() {
    std::string text;
    const uint32_t parts = 1 + below(12);
    for (uint32_t i = 0; i < parts; ++i) {
      switch (below(7)) {
        case 0:
          for (uint32_t n = below(8); n > 0; --n) text += static_cast<char>(below(256));
          break;
        case 1:
          for (uint32_t n = below(8); n > 0; --n) append_utf8(text, code_point());
          break;
        case 2:
          text.append(below(60), " \t\n"[below(3)]);
          break;
        case 3:
          for (uint32_t n = below(200); n > 0; --n) text += static_cast<char>('a' + below(26));
          break;
        case 4:
          text += std::to_string(random_());
          break;
        default: {
          constexpr const char* kWords[] = {"return ",    "def foo(self):\n    ",
                                            "HTTPServer", "don't",
                                            "\r\n",       "// 日本語",
                                            "été",        " == ",
                                            "->",         "\"\"\"",
                                            "x_1",        "\n\n\n"};
          text += kWords[below(std::size(kWords))];
        }
      }
    }
    return text;
  }

 private:
  uint32_t code_point() {
    constexpr uint32_t kPlanes[] = {0x80, 0x800, 0x3000, 0xD000, 0x1F000, 0x10F800};
    return kPlanes[below(std::size(kPlanes))] + below(0x780);
  }
  std::mt19937 random_;
};

/// The definition, told dully: tokens as strings, the best pair searched anew for each merge.
class DullMerger {
 public:
  explicit DullMerger(const GgufFile& file, const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    for (TokenId id = tokenizer.size() - 1; id >= 0; --id) {
      const std::string text(tokenizer.text(id));
      if (tokenizer.type(id) == TokenType::normal) ids_[text] = id;
      if (tokenizer.type(id) == TokenType::user_defined) user_defined_[text] = id;
    }
    int rank = 0;
    for (const std::string_view merge : file.array("tokenizer.ggml.merges", 8)->strings) {
      const size_t space = merge.find(' ', 1);
      std::string left, right;
      append_spelt_bytes(merge.substr(0, space), left);
      append_spelt_bytes(merge.substr(space + 1), right);
      ranks_.emplace(std::pair(left, right), rank++);
    }
  }

  Ids encode(std::string_view text) const {
    Ids ids;
    size_t begin = 0;
    for (const size_t end : tokenizer_.piece_ends(text)) {
      merge(text.substr(begin, end - begin), ids);
      begin = end;
    }
    return ids;
  }

 private:
  void merge(std::string_view piece, Ids& ids) const {
    const auto whole = user_defined_.find(std::string(piece));
    if (whole != user_defined_.end()) return ids.push_back(whole->second);
    std::vector<std::string> parts;
    for (const char c : piece) parts.emplace_back(1, c);
    for (;;) {
      size_t best = 0;
      int best_rank = -1;
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto it = ranks_.find({parts[i], parts[i + 1]});
        if (it == ranks_.end() || (best_rank >= 0 && it->second >= best_rank)) continue;
        best = i;
        best_rank = it->second;
      }
      if (best_rank < 0) break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + ptrdiff_t(best) + 1);
    }
    for (const std::string& part : parts) {
      if (ids_.contains(part)) {
        ids.push_back(ids_.at(part));
        continue;
      }
      for (const char c : part) {
        if (ids_.contains(std::string(1, c))) ids.push_back(ids_.at(std::string(1, c)));
      }
    }
  }

  const Tokenizer& tokenizer_;
  std::map<std::string, TokenId> ids_, user_defined_;
  std::map<std::pair<std::string, std::string>, int> ranks_;
};

std::string without_unsayable(const Tokenizer& tokenizer, std::string text) {
  std::erase_if(text, [&](char c) { return !tokenizer.find(std::string_view(&c, 1)); });
  return text;
}

bool valid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Character c = decode_utf8(text, at);
    if (!c.valid) return false;
    at += c.bytes;
  }
  return true;
}

class AnyText : public testing::TestWithParam<const char*> {};

TEST_P(AnyText, SurvivesEncodingAsTheDullMergerDoesIt) {
  const Loaded loaded(GetParam());
  const Tokenizer& tokenizer = loaded.tokenizer;
  const DullMerger dull(loaded.file, tokenizer);
  Texts texts(7);
  for (int i = 0; i < 500; ++i) {
    const std::string text = texts.next();
    const Ids ids = tokenizer.encode(text);
    ASSERT_EQ(tokenizer.decode(ids), without_unsayable(tokenizer, text)) << "case " << i;
    ASSERT_THAT(ids, ElementsAreArray(dull.encode(text))) << "case " << i;
    // The pieces cover the text; that no token spans two is the dull merger's premise.
    const std::vector<size_t> ends = tokenizer.piece_ends(text);
    ASSERT_TRUE(std::is_sorted(ends.begin(), ends.end(), std::less_equal<>()));
    ASSERT_EQ(ends.empty() ? 0 : ends.back(), text.size());
    // Streaming gives the same bytes, and only whole characters while it can.
    Detokenizer stream(tokenizer);
    std::string streamed;
    for (const TokenId id : ids) {
      const std::string part = stream.push(id);
      ASSERT_TRUE(!valid_utf8(text) || valid_utf8(part));
      streamed += part;
    }
    ASSERT_EQ(streamed + stream.flush(), tokenizer.decode(ids));
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, AnyText,
                         testing::Values("bytes", "starcoder", "deepseek-llm", "mpt", "gpt-2"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Compatible, IsWhatASearchThroughAllTokensFinds) {
  for (const char* name : {"bytes", "starcoder", "mpt", "deepseek-coder"}) {
    const Loaded loaded(name);
    const Tokenizer& tokenizer = loaded.tokenizer;
    Texts texts(11);
    std::vector<std::string> beginnings = {"",     " ",      "  ",       "re",
                                           " ret", "\t\t",   "<fim_pre", "<|endoft",
                                           "\xe6", "return", "[PAD",     "\xff\xfe"};
    for (int i = 0; i < 40; ++i) {
      beginnings.push_back(texts.next().substr(0, 1 + texts.below(9)));
      beginnings.emplace_back(tokenizer.text(TokenId(texts.below(uint32_t(tokenizer.size())))));
    }
    for (const std::string& bytes : beginnings) {
      Ids expected;
      for (TokenId id = 0; id < tokenizer.size(); ++id) {
        const std::string_view text = tokenizer.text(id);
        const TokenType type = tokenizer.type(id);
        const bool is_text =
            type == TokenType::normal || type == TokenType::byte || type == TokenType::user_defined;
        if (!is_text || text.empty() || bytes.empty()) continue;
        if (text.starts_with(bytes) || bytes.starts_with(text)) expected.push_back(id);
      }
      ASSERT_THAT(tokenizer.compatible(bytes), ElementsAreArray(expected)) << name << " " << bytes;
    }
  }
}

TEST(Tokenizer, FindsTokensByTheirText) {
  const Loaded loaded("starcoder");
  EXPECT_EQ(loaded.tokenizer.find("<fim_prefix>"), 1);
  EXPECT_EQ(loaded.tokenizer.find(" return"), loaded.tokenizer.encode(" return")[0]);
  EXPECT_EQ(loaded.tokenizer.find(""), std::nullopt);
  EXPECT_EQ(loaded.tokenizer.find("no such token, surely"), std::nullopt);
  for (TokenId id = 0; id < loaded.tokenizer.size(); ++id) {
    ASSERT_EQ(loaded.tokenizer.find(loaded.tokenizer.text(id)), id);
  }
  EXPECT_EQ(loaded.tokenizer.text(-1), "");
  EXPECT_EQ(loaded.tokenizer.text(loaded.tokenizer.size()), "");
  EXPECT_EQ(loaded.tokenizer.type(1 << 30), TokenType::unused);
}

TEST(Tokenizer, IsLinearInOneEndlessPiece) {
  const Loaded loaded("starcoder");
  const auto seconds = [&](size_t bytes, const char* pattern) {
    std::string text;
    while (text.size() < bytes) text += pattern;
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const std::clock_t start = std::clock();
      EXPECT_EQ(loaded.tokenizer.decode(loaded.tokenizer.encode(text)), text);
      best = std::min(best, double(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
  };
  for (const char* pattern : {"a", "ab", "(", " ", "\n ", "abcdefghijklmnopqrstuvwxyzjq"}) {
    // Sixteen times the text: 16 where linear (and the caches do their part), 256 where quadratic.
    EXPECT_LE(seconds(1 << 18, pattern), 90 * seconds(1 << 14, pattern) + 2e-3) << pattern;
  }
}

TEST(Tokenizer, ManyThreadsGetTheSameIds) {
  const Loaded loaded("starcoder");
  const Loaded alone("starcoder");
  std::vector<std::string> texts;
  Texts source(3);
  for (int i = 0; i < 200; ++i) texts.push_back(source.next());
  std::vector<Ids> expected;
  for (const std::string& text : texts) expected.push_back(alone.tokenizer.encode(text));
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < texts.size(); ++i) {
        wrong[t] += loaded.tokenizer.encode(texts[i]) != expected[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

TEST(Detokenizer, HoldsBackHalfACharacter) {
  const Loaded loaded("bytes");
  const auto id = [&](const char* byte) {
    return *loaded.tokenizer.find(std::string_view(byte, 1));
  };
  Detokenizer stream(loaded.tokenizer);
  EXPECT_EQ(stream.push(id("a")), "a");
  EXPECT_EQ(stream.push(id("\xe6")), "");
  EXPECT_EQ(stream.push(id("\x97")), "");
  EXPECT_EQ(stream.push(id("\xa5")), "日");
  EXPECT_EQ(stream.push(id("\xe6")), "");
  EXPECT_EQ(stream.push(id("b")),
            "\xe6"
            "b");  // never a character: given as it is
  EXPECT_EQ(stream.push(id("\xf0")), "");
  EXPECT_EQ(stream.flush(), "\xf0");
  EXPECT_EQ(stream.flush(), "");
}

}  // namespace
}  // namespace foretoken::engine

#include "engine/pretokenizer.h"

#include <span>

#include "engine/split_scanner.h"

namespace foretoken::engine {

namespace {

using R = SplitRules;
constexpr Pretokenizer kPretokenizers[] = {
    {"default", R::standard},
    {"gpt-2", R::gpt2},
    {"phi-2", R::gpt2},
    {"mpt", R::gpt2},
    {"olmo", R::gpt2},
    {"jais", R::gpt2},
    {"gigachat", R::gpt2},
    {"jina-es", R::gpt2},
    {"jina-de", R::gpt2},
    {"jina-v1-en", R::gpt2},
    {"jina-v2-es", R::gpt2},
    {"jina-v2-de", R::gpt2},
    {"jina-v2-code", R::gpt2},
    {"roberta-bpe", R::gpt2},
    {"modern-bert", R::gpt2},
    {"trillion", R::gpt2},
    {"exaone4", R::gpt2},
    {"a.x-4.0", R::gpt2},
    {"mellum", R::gpt2},
    {"granite-docling", R::gpt2},
    {"starcoder", R::digits_gpt2},
    {"refact", R::digits_gpt2},
    {"smollm", R::digits_gpt2},
    {"codeshell", R::digits_gpt2},
    {"command-r", R::digits_gpt2},
    {"exaone", R::digits_gpt2},
    {"minerva-7b", R::digits_gpt2},
    {"mellum2", R::digits_gpt2},
    {"llama3", R::llama3, true, true},
    {"llama-v3", R::llama3, true, true},
    {"llama-bpe", R::llama3, true, true},
    {"falcon3", R::llama3, true, true},
    {"falcon-h1", R::llama3, true, true},
    {"pixtral", R::llama3, true, true},
    {"midm-2.0", R::llama3, true, true},
    {"lfm2", R::llama3, true, true},
    {"dbrx", R::llama3},
    {"smaug-bpe", R::llama3},
    {"glm4", R::llama3},
    {"chatglm-bpe", R::llama3},
    {"qwen2", R::qwen2},
    {"deepseek-r1-qwen", R::qwen2},
    {"kormo", R::qwen2},
    {"f2llmv2", R::qwen2},
    {"stablelm2", R::qwen2},
    {"hunyuan", R::qwen2},
    {"megrez", R::qwen2},
    {"solar-open", R::qwen2},
    {"grok-2", R::qwen2},
    {"gpt-4o", R::gpt4o},
    {"llama4", R::gpt4o},
    {"kanana2", R::gpt4o},
    {"talkie", R::gpt4o},
    {"minimax-m2", R::gpt4o},
    {"deepseek-v3", R::deepseek_v3},
    {"hunyuan-dense", R::deepseek_v3},
    {"joyai-llm", R::deepseek_v3},
    {"seed-coder", R::seed_coder},
    {"deepseek-coder", R::deepseek_coder},
    {"deepseek-llm", R::deepseek_llm},
    {"tekken", R::tekken, true, true},
    {"falcon", R::falcon},
    {"qwen35", R::qwen35},
};

// The expressions of each set of rules, in the order in which they are applied. Every expression
// cuts each piece of the one before into its matches and the gaps between them.
constexpr SplitScanner::Match kGpt2[] = {match_gpt2};
constexpr SplitScanner::Match kDigitsGpt2[] = {match_number, match_gpt2};
constexpr SplitScanner::Match kLlama3[] = {match_llama3};
constexpr SplitScanner::Match kQwen2[] = {match_qwen2};
constexpr SplitScanner::Match kSeedCoder[] = {match_seed_coder};
constexpr SplitScanner::Match kQwen35[] = {match_qwen35};
constexpr SplitScanner::Match kTekken[] = {match_tekken};
constexpr SplitScanner::Match kGpt4o[] = {match_gpt4o};
constexpr SplitScanner::Match kDeepseekCoder[] = {match_newline, match_blank_letters,
                                                  match_blank_punctuation, match_cjk, match_number};
constexpr SplitScanner::Match kDeepseekLlm[] = {match_newline,
                                                match_blank_deepseek_letters,
                                                match_blank_deepseek_signs,
                                                match_trailing_blanks,
                                                match_cjk,
                                                match_numbers};
constexpr SplitScanner::Match kDeepseekV3[] = {match_three_numbers, match_cjk_kana,
                                               match_deepseek_v3};
constexpr SplitScanner::Match kFalcon[] = {match_signs_and_backtick, match_gpt2,
                                           match_three_ascii_digits};
constexpr SplitScanner::Match kStandard[] = {match_signs, match_gpt2, match_numbers,
                                             match_three_ascii_digits};

std::span<const SplitScanner::Match> expressions(SplitRules rules) {
  switch (rules) {
    case R::gpt2:
      return kGpt2;
    case R::digits_gpt2:
      return kDigitsGpt2;
    case R::llama3:
      return kLlama3;
    case R::qwen2:
      return kQwen2;
    case R::seed_coder:
      return kSeedCoder;
    case R::qwen35:
      return kQwen35;
    case R::tekken:
      return kTekken;
    case R::gpt4o:
      return kGpt4o;
    case R::deepseek_coder:
      return kDeepseekCoder;
    case R::deepseek_llm:
      return kDeepseekLlm;
    case R::deepseek_v3:
      return kDeepseekV3;
    case R::falcon:
      return kFalcon;
    case R::standard:
      return kStandard;
  }
  return kStandard;
}

/// Appends the ends of the matches of `match` in text[begin, end) and of the gaps between them.
void split_piece(SplitScanner::Match match, std::string_view text, size_t begin, size_t end,
                 std::vector<size_t>& ends) {
  const SplitScanner scanner(text.substr(0, end), begin);
  size_t gap = begin;
  for (size_t at = begin; at < end;) {
    const size_t stop = match(scanner, at);
    if (stop == at) {
      at += scanner.peek(at).bytes;
      continue;
    }
    if (gap < at) ends.push_back(at);
    ends.push_back(stop);
    gap = at = stop;
  }
  if (gap < end) ends.push_back(end);
}

}  // namespace

const Pretokenizer* find_pretokenizer(std::string_view name) {
  for (const Pretokenizer& row : kPretokenizers) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::vector<std::string_view> pretokenizer_names() {
  std::vector<std::string_view> names;
  for (const Pretokenizer& row : kPretokenizers) names.push_back(row.name);
  return names;
}

void split_text(SplitRules rules, std::string_view text, size_t base, std::vector<size_t>& ends) {
  if (text.empty()) return;
  std::vector<size_t> pieces{text.size()}, cut;
  for (const SplitScanner::Match match : expressions(rules)) {
    cut.clear();
    size_t begin = 0;
    for (const size_t end : pieces) {
      split_piece(match, text, begin, end, cut);
      begin = end;
    }
    pieces.swap(cut);
  }
  ends.reserve(ends.size() + pieces.size());
  for (const size_t end : pieces) ends.push_back(base + end);
}

}  // namespace foretoken::engine

#include "engine/fim.h"

#include <algorithm>
#include <array>

#include "engine/control_tokens.h"
#include "engine/gguf.h"

namespace foretoken::engine {

namespace {

enum class Spelling : uint8_t {
  piped,
  underscored,
  hyphenated,
  deepseek,
  seed,
  code,
  plain_piped,
  codellama,
  codellama_ascii,
  brackets,
  other
};

struct Marks {
  Spelling spelling;
  std::string_view prefix, suffix, middle;  // middle empty: none is used
};

// In the order in which they are looked for.
constexpr Marks kMarks[] = {
    {Spelling::piped, "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    {Spelling::underscored, "<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    {Spelling::hyphenated, "<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
    {Spelling::deepseek, "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},
    {Spelling::seed, "<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"},
    {Spelling::code, "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},
    {Spelling::plain_piped, "<|prefix|>", "<|suffix|>", "<|middle|>"},
    {Spelling::codellama, "▁<PRE>", "▁<SUF>", "▁<MID>"},
    {Spelling::codellama_ascii, "<PRE>", "<SUF>", "<MID>"},
    {Spelling::brackets, "[PREFIX]", "[SUFFIX]", ""},
};

// Models whose files may spell the tokens in a way of their own; the ids are fixed.
struct Known {
  std::string_view name;  // part of general.name or general.basename, in lower case
  Spelling spelling;
  TokenId prefix, suffix, middle;
};
constexpr Known kKnown[] = {
    {"qwen2.5-coder", Spelling::piped, 151659, 151661, 151660},
    {"qwen2.5 coder", Spelling::piped, 151659, 151661, 151660},
    {"qwen3-coder", Spelling::piped, 151659, 151661, 151660},
    {"starcoder2", Spelling::underscored, 1, 3, 2},
    {"deepseek-coder", Spelling::deepseek, 32016, 32015, 32017},
};

class Detector {
 public:
  Detector(const GgufFile& file, const Tokenizer& tokenizer) : file_(file), tokenizer_(tokenizer) {
    for (const char* key : {"general.name", "general.basename"}) {
      name_ += std::string(file.string(key).value_or("")) + "\n";
    }
    for (char& c : name_) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    architecture_ = file.string("general.architecture").value_or("");
  }

  Fim detect() {
    if (!from_keys() && !from_texts()) from_name();
    if (fim_.order != FimOrder::none) describe_family();
    if (!fim_.pad) fim_.pad = id_of("tokenizer.ggml.fim_pad_token_id");
    const bool add_bos =
        file_.boolean("tokenizer.ggml.add_bos_token").value_or(tokenizer_.add_bos() || wants_bos_);
    if (add_bos) fim_.bos = tokenizer_.bos();
    collect_stops();
    collect_banned();
    return std::move(fim_);
  }

 private:
  /// The token a key names; nullopt where the key is absent or names no token.
  std::optional<TokenId> id_of(std::string_view key) const {
    const GgufValue* value = file_.find(key);
    if (value == nullptr) return std::nullopt;
    uint64_t id = ~0ull;
    if (const auto* u = std::get_if<uint64_t>(value)) id = *u;
    if (const auto* i = std::get_if<int64_t>(value)) id = static_cast<uint64_t>(*i);
    return id < uint64_t(tokenizer_.size()) ? std::optional(static_cast<TokenId>(id))
                                            : std::nullopt;
  }

  std::optional<TokenId> either(std::string_view key, std::string_view legacy) const {
    const auto id = id_of(key);
    return id ? id : id_of(legacy);
  }

  std::optional<TokenId> control(std::string_view text) const {
    const auto id = tokenizer_.find(text);
    return id && tokenizer_.type(*id) == TokenType::control ? id : std::nullopt;
  }

  bool take(std::optional<TokenId> prefix, std::optional<TokenId> suffix,
            std::optional<TokenId> middle, Spelling spelling, const char* found_by) {
    const bool no_middle = spelling == Spelling::brackets;
    if (!prefix || !suffix || *prefix == *suffix) return false;
    if (!no_middle && (!middle || *middle == *prefix || *middle == *suffix)) return false;
    fim_.prefix = prefix;
    fim_.suffix = suffix;
    if (!no_middle) fim_.middle = middle;
    spelling_ = spelling;
    fim_.order = FimOrder::prefix_suffix_middle;
    fim_.found_by = found_by;
    return true;
  }

  bool from_keys() {
    const auto prefix = either("tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id");
    const auto suffix = either("tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.suffix_token_id");
    const auto middle = either("tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.middle_token_id");
    if (!prefix) return false;
    Spelling spelling = Spelling::other;
    for (const Marks& marks : kMarks) {
      if (tokenizer_.text(*prefix) == marks.prefix) spelling = marks.spelling;
    }
    return take(prefix, suffix, middle, spelling, "metadata keys");
  }

  bool from_texts() {
    return std::any_of(std::begin(kMarks), std::end(kMarks), [&](const Marks& m) {
      return take(control(m.prefix), control(m.suffix), control(m.middle), m.spelling,
                  "token texts");
    });
  }

  bool from_name() {
    return std::any_of(std::begin(kKnown), std::end(kKnown), [&](const Known& known) {
      if (name_.find(known.name) == name_.npos) return false;
      for (const TokenId id : {known.prefix, known.suffix, known.middle}) {
        if (tokenizer_.type(id) != TokenType::control) return false;
      }
      return take(known.prefix, known.suffix, known.middle, known.spelling, "model name");
    });
  }

  void describe_family() {
    switch (spelling_) {
      case Spelling::piped:
        describe_piped();
        break;
      case Spelling::underscored:
        describe_underscored();
        break;
      case Spelling::hyphenated:
        family("santacoder");
        break;
      case Spelling::deepseek:
        family("deepseek-coder");
        fim_.files = Fim::Files::hash_comment;
        wants_bos_ = true;
        break;
      case Spelling::seed:
        family("seed-coder", FimOrder::suffix_prefix_middle);
        break;
      case Spelling::code:
        family("glm");
        break;
      case Spelling::plain_piped:
        family("falcon-h1");
        break;
      case Spelling::codellama:
      case Spelling::codellama_ascii:
        family("codellama");
        wants_bos_ = true;
        break;
      case Spelling::brackets:
        family("codestral", FimOrder::suffix_prefix_middle);
        wants_bos_ = true;
        break;
      case Spelling::other:
        family("other");
        files(Fim::Files::separator, {}, {});
        break;
    }
    for (const char* text : {"<|fim_pad|>", "<fim_pad>", "<fim-pad>"}) {
      if (!fim_.pad) fim_.pad = control(text);
    }
  }

  void describe_piped() {
    if (name_.starts_with("foretoken pocket")) {
      family("foretoken-pocket");
      files(Fim::Files::separator, "<|file_sep|>", {});
      fim_.repo.reset();  // it was never shown a repository's name
    } else if (architecture_.starts_with("gemma") || control("<|file_separator|>")) {
      family("codegemma");
      files(Fim::Files::separator, "<|file_separator|>", {});
      wants_bos_ = true;
    } else if (architecture_.starts_with("granite")) {
      family("granite");
      files(Fim::Files::filename_token, "<filename>", "<reponame>");
    } else {
      family("qwen2.5-coder");
      files(Fim::Files::separator, "<|file_sep|>", "<|repo_name|>");
    }
  }

  void describe_underscored() {
    if (tokenizer_.pre() == "mellum" || name_.find("mellum") != name_.npos) {
      family("mellum", FimOrder::suffix_prefix_middle);
      files(Fim::Files::filename_token, "<filename>", "<reponame>");
    } else if (control("<file_sep>")) {
      family("starcoder2");
      files(Fim::Files::separator, "<file_sep>", "<repo_name>");
      fim_.path_after_prefix = fim_.file_separator.has_value();
    } else {
      family(architecture_ == "refact" || architecture_ == "codeshell" ? architecture_
             : name_.find("granite") != name_.npos                     ? "granite-code"
                                                                       : "starcoder");
      files(Fim::Files::filename_token, "<filename>", "<reponame>");
    }
  }

  void family(std::string_view name, FimOrder order = FimOrder::prefix_suffix_middle) {
    fim_.family = name;
    fim_.order = order;
  }

  /// The form of files in front of the current one, where the vocabulary has the token for it.
  void files(Fim::Files form, std::string_view separator, std::string_view repo) {
    fim_.file_separator = id_of("tokenizer.ggml.fim_sep_token_id");
    if (!fim_.file_separator) fim_.file_separator = control(separator);
    fim_.repo = id_of("tokenizer.ggml.fim_rep_token_id");
    if (!fim_.repo) fim_.repo = control(repo);
    if (fim_.file_separator) fim_.files = form;
  }

  void collect_stops() {
    std::vector<TokenId>& stops = fim_.stops;
    const auto add = [&](std::optional<TokenId> id) {
      if (id) stops.push_back(*id);
    };
    for (const auto id : {tokenizer_.eos(), tokenizer_.eot(), fim_.prefix, fim_.suffix, fim_.middle,
                          fim_.pad, fim_.repo, fim_.file_separator}) {
      add(id);
    }
    for (const char* key : {"tokenizer.ggml.eom_token_id", "tokenizer.ggml.fim_rep_token_id",
                            "tokenizer.ggml.fim_sep_token_id"}) {
      add(id_of(key));
    }
    for (TokenId id = 0; id < tokenizer_.size(); ++id) {
      if (tokenizer_.type(id) == TokenType::control &&
          control_role(tokenizer_.text(id)) != ControlRole::none) {
        add(id);
      }
    }
    const auto bos = tokenizer_.bos();
    if (bos && tokenizer_.type(*bos) == TokenType::control) add(bos);
    std::sort(stops.begin(), stops.end());
    stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
  }

  void collect_banned() {
    // Rows of the output that no token stands for are never generated either.
    constexpr uint64_t kMostRows = 1u << 20;
    const GgufTensor* embedding = file_.tensor("token_embd.weight");
    const uint64_t rows = embedding != nullptr ? std::min(embedding->dim(1), kMostRows) : 0;
    const auto count = std::max<uint64_t>(rows, uint64_t(tokenizer_.size()));
    fim_.banned.assign(count / 8 + 1, 0);
    for (uint64_t row = 0; row < count; ++row) {
      const auto id = static_cast<TokenId>(row);
      const TokenType type = tokenizer_.type(id);  // unused where there is no token
      const bool is_text =
          type == TokenType::normal || type == TokenType::byte || type == TokenType::user_defined;
      if ((is_text && !tokenizer_.text(id).empty()) || fim_.is_stop(id)) continue;
      fim_.banned[row / 8] |= static_cast<uint8_t>(1u << (row % 8));
    }
  }

  const GgufFile& file_;
  const Tokenizer& tokenizer_;
  std::string name_;  // in lower case
  std::string_view architecture_;
  Spelling spelling_ = Spelling::other;
  bool wants_bos_ = false;
  Fim fim_{.family = "none", .found_by = "none"};
};

}  // namespace

bool Fim::is_stop(TokenId id) const {
  return std::binary_search(stops.begin(), stops.end(), id);
}

bool Fim::is_banned(TokenId id) const {
  if (id < 0 || size_t(id) / 8 >= banned.size()) return true;
  return (banned[size_t(id) / 8] >> (id % 8) & 1) != 0;
}

Fim detect_fim(const GgufFile& file, const Tokenizer& tokenizer) {
  return Detector(file, tokenizer).detect();
}

}  // namespace foretoken::engine

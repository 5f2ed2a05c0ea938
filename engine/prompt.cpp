#include "engine/prompt.h"

#include <algorithm>

namespace foretoken::engine {
namespace {

class Builder {
 public:
  explicit Builder(Prompt& prompt) : prompt_(prompt) {}

  void control(std::optional<TokenId> id) {
    if (id) add("structure", std::span(&*id, 1));
  }
  void add(std::string_view kind, std::span<const TokenId> ids, int item = -1) {
    if (ids.empty()) return;
    const int begin = static_cast<int>(prompt_.ids.size());
    prompt_.ids.insert(prompt_.ids.end(), ids.begin(), ids.end());
    prompt_.parts.push_back({kind, begin, static_cast<int>(prompt_.ids.size()), item});
  }

 private:
  Prompt& prompt_;
};

int line_of(std::string_view text, size_t offset) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + ptrdiff_t(offset), '\n'));
}

}  // namespace

Prompt make_prompt(const Tokenizer& tokenizer, const Fim& fim, std::string_view path,
                   const Layout& layout, std::string_view middle, PromptUpTo up_to) {
  Prompt prompt;
  Builder b(prompt);
  const auto text = [&](std::string_view t) { return tokenizer.encode(t); };
  const std::vector<TokenId> middle_ids = text(middle);
  const std::string name = std::string(path) + "\n";

  b.control(fim.bos);
  for (size_t i = 0; i < layout.context.size() && fim.files != Fim::Files::none; ++i) {
    const bool comment = fim.files == Fim::Files::hash_comment;
    if (!comment) b.control(fim.file_separator);
    b.add("context", text((comment ? "#" : "") + layout.context[i].path + "\n"), int(i));
    b.add("context", layout.context_ids[i], int(i));
  }
  if (!path.empty()) {
    switch (fim.files) {
      case Fim::Files::none:
        break;
      case Fim::Files::hash_comment:
        b.add("header", text("#" + name));
        break;
      case Fim::Files::separator:
      case Fim::Files::filename_token:
        b.control(fim.file_separator);
        if (!fim.path_after_prefix) b.add("header", text(name));
        break;
    }
  }
  switch (fim.order) {
    case FimOrder::none:
      b.add("prefix", layout.prefix_ids);
      b.add("middle", middle_ids);
      break;
    case FimOrder::prefix_suffix_middle:
      b.control(fim.prefix);
      if (!path.empty() && fim.path_after_prefix) b.add("header", text(name));
      b.add("prefix", layout.prefix_ids);
      if (up_to == PromptUpTo::prefix) break;
      b.control(fim.suffix);
      b.add("suffix", layout.suffix_ids);
      b.control(fim.middle);
      b.add("middle", middle_ids);
      break;
    case FimOrder::suffix_prefix_middle:
      b.control(fim.suffix);
      b.add("suffix", layout.suffix_ids);
      b.control(fim.prefix);
      b.add("prefix", layout.prefix_ids);
      b.add("middle", middle_ids);
      b.control(fim.middle);
      break;
  }
  return prompt;
}

std::string prompt_text(const Tokenizer& tokenizer, const Prompt& prompt) {
  return tokenizer.decode(prompt.ids);
}

std::vector<CardRow> make_card(const Prompt& prompt, std::string_view path, const Layout& layout,
                               std::string_view middle, std::string_view text, int reused) {
  std::vector<CardRow> rows;
  for (const PromptPart& part : prompt.parts) {
    CardRow row;
    row.tier = part.kind == "structure" || part.kind == "header" ? "structure" : "core";
    row.kind = part.kind;
    row.path = path;
    if (part.item >= 0) {
      row.tier = "extended";
      row.kind = layout.context[size_t(part.item)].kind;
      row.path = layout.context[size_t(part.item)].path;
    }
    row.rendition = "full";
    row.tokens = part.end - part.begin;
    row.reused = std::clamp(reused - part.begin, 0, row.tokens);
    const auto lines = [&](size_t from, size_t bytes) {
      row.first_line = line_of(text, from);
      row.last_line = line_of(text, bytes == 0 ? from : from + bytes - 1);
    };
    if (part.kind == "prefix") lines(layout.window_start, layout.prefix.size());
    if (part.kind == "middle") lines(layout.anchor, middle.size());
    if (part.kind == "suffix") lines(layout.anchor + layout.middle.size(), layout.suffix.size());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace foretoken::engine

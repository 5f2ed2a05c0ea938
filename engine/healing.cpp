#include "engine/healing.h"

#include <algorithm>

namespace foretoken::engine {
namespace {

/// A longer "word" (a hash, a base64 string, a run of blanks) is healed by its last token alone:
/// every token taken off is a step that only repeats what stands there.
constexpr size_t kLongestWord = 40;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

Healed heal(const Tokenizer& tokenizer, std::string_view middle) {
  if (middle.empty() || middle.back() == '\n') return {middle.size(), false};
  const size_t newline = middle.rfind('\n');
  const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
  if (middle.find_first_not_of(" \t", line) == std::string_view::npos) {
    return {middle.size() - 1, true};
  }
  // The split rules see the whole last line; a piece never ends differently for what stands before.
  const std::vector<size_t> ends = tokenizer.piece_ends(middle.substr(line));
  size_t start = line + (ends.size() > 1 ? ends[ends.size() - 2] : 0);
  // A run of blanks inside a line belongs to the token before it but for the last one.
  if (is_blank(middle[start]) && middle.find_first_not_of(" \t", start) == std::string_view::npos) {
    start = middle.size() - 1;
  }
  if (middle.size() - start > kLongestWord) {
    const std::vector<TokenId> ids = tokenizer.encode(middle.substr(start));
    start = middle.size() - tokenizer.text(ids.back()).size();
  }
  return {start, false};
}

Restriction::Restriction(const Tokenizer& tokenizer, std::string typed)
    : tokenizer_(tokenizer), typed_(std::move(typed)) {
  if (typed_.empty()) return;
  fewest_ = tokenizer_.fewest_tokens(typed_);
  tokens_left_ = std::max(fewest_.front(), static_cast<int>(tokenizer_.encode(typed_).size()));
}

std::vector<TokenId> Restriction::allowed() const {
  if (!active()) return {};
  std::vector<TokenId> ids = tokenizer_.compatible(std::string_view(typed_).substr(done_));
  if (fewest_[done_] < 0) return ids;  // bytes the vocabulary has no tokens for
  std::erase_if(ids, [&](TokenId id) {
    const size_t end = done_ + tokenizer_.text(id).size();
    return end < typed_.size() && (fewest_[end] < 0 || fewest_[end] > tokens_left_ - 1);
  });
  return ids;
}

std::string_view Restriction::accept(TokenId id) {
  const std::string_view text = tokenizer_.text(id);
  const size_t typed = std::min(typed_.size() - done_, text.size());
  done_ += typed;
  --tokens_left_;
  return text.substr(typed);
}

}  // namespace foretoken::engine

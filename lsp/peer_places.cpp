#include <algorithm>

#include "lsp/peer_comparison.h"
#include "lsp/text.h"

namespace foretoken::lsp {
namespace {

constexpr size_t kPrefixTokens = 1450, kSuffixTokens = 500;
constexpr size_t kShortestLine = 28, kLongestLine = 100;  // bytes, without the indentation
constexpr size_t kMostBytesPerToken = 8;

size_t character_start(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (text[at] & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

std::vector<PeerPlace> choose_peer_places(const engine::Tokenizer& tokenizer, const std::string& path,
                                          const std::string& text, uint64_t seed, size_t most) {
  const LineIndex lines(text);
  std::vector<PeerPlace> places;
  // A stride without common factors visits every line once, far apart.
  const size_t count = lines.lines(), stride = count > 1 ? size_t(double(count) * 0.382) | 1 : 1;
  for (size_t i = 0, number = seed % count; i < count && places.size() < most;
       ++i, number = (number + stride) % count) {
    const size_t start = lines.start(number), end = lines.content_end(text, number);
    const std::string_view line = std::string_view(text).substr(start, end - start);
    const size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
    if (line.size() - indent < kShortestLine || line.size() - indent > kLongestLine) continue;
    if (!std::all_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) continue;
    const size_t near = start - std::min(start, kPrefixTokens * kMostBytesPerToken);
    const auto before = tokenizer.encode(std::string_view(text).substr(near, start - near));
    const auto after = tokenizer.encode(std::string_view(text).substr(end, kSuffixTokens * kMostBytesPerToken));
    if (before.size() < kPrefixTokens || after.size() < kSuffixTokens) continue;
    const std::string head = tokenizer.decode(std::span(before).last(kPrefixTokens));
    const std::string tail = tokenizer.decode(std::span(after).first(kSuffixTokens));
    PeerPlace place;
    place.path = path;
    // A token may end inside a character: only whole ones, so that every side gets the same text.
    size_t first = 0;
    while (first < head.size() && (head[first] & 0xC0) == 0x80) ++first;
    place.before = head.substr(first);
    place.line = line;
    place.after = valid_utf8(tail) == tail ? tail : tail.substr(0, character_start(tail, tail.size() - 1));
    place.typed_from = indent + (line.size() - indent) / 3;
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace foretoken::lsp

// 50,000 random edits through the whole server, held against a dull model of a text: a list of
// characters, walked from the start for every position.
#include <gtest/gtest.h>

#include <random>

#include "lsp/sha256.h"
#include "tests/support/lsp_client.h"

namespace foretoken::lsp {
namespace {

using json = nlohmann::json;

std::string sha256(std::string_view text) {
  Sha256 sum;
  sum.add(text);
  return sum.hex();
}

/// Units one character takes in an encoding.
size_t units(std::string_view character, PositionEncoding encoding) {
  if (encoding == PositionEncoding::utf8) return character.size();
  return encoding == PositionEncoding::utf16 && character.size() == 4 ? 2 : 1;
}

class DullText {
 public:
  DullText() = default;
  explicit DullText(const std::string& text) : text_(text) {}
  const std::string& str() const { return text_; }

  size_t lines() const {
    size_t count = 1;
    for (size_t i = 0; i < text_.size(); ++i) count += ends_line(i) ? 1 : 0;
    return count;
  }

  /// Clamps: past the last line to the end, past a line's end to it, inside a character to its
  /// start.
  size_t offset(const Position& at, PositionEncoding encoding) const {
    size_t i = 0;
    for (uint32_t line = 0; line < at.line; ++line) {
      while (i < text_.size() && !ends_line(i)) ++i;
      if (i == text_.size()) return i;
      ++i;
    }
    uint64_t walked = 0;
    while (i < text_.size() && text_[i] != '\n' && text_[i] != '\r') {
      const size_t size = character_size(i);
      walked += units(std::string_view(text_).substr(i, size), encoding);
      if (walked > at.character) break;
      i += size;
    }
    return i;
  }

  /// What Documents promises of ranges that cannot be meant: false, and nothing done.
  bool replace(const Range& range, PositionEncoding encoding, const std::string& with) {
    const size_t count = lines();
    const bool whole = range.start == Position{0, 0} && range.end.line >= count;
    if (!whole && (range.start.line > count || range.end.line > count)) return false;
    const size_t start = offset(range.start, encoding), end = offset(range.end, encoding);
    if (end < start) return false;
    text_.replace(start, end - start, with);
    return true;
  }

 private:
  bool ends_line(size_t i) const {  // the last byte of a line end
    return text_[i] == '\n' ||
           (text_[i] == '\r' && (i + 1 == text_.size() || text_[i + 1] != '\n'));
  }
  size_t character_size(size_t i) const {
    const auto lead = static_cast<unsigned char>(text_[i]);
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  }

  std::string text_;
};

class EditStorm {
 public:
  EditStorm(uint64_t seed, PositionEncoding encoding) : random_(seed), encoding_(encoding) {
    client_.start(
        {{"initializationOptions", {{"positionEncoding", name(encoding)}}},
         {"capabilities", {{"general", {{"positionEncodings", {"utf-8", "utf-16", "utf-32"}}}}}}});
  }

  /// One notification about one document, then its hash.
  void step() {
    const std::string uri = kUris[pick(kUris.size())];
    Held& held = held_[uri.find("%61") != std::string::npos ? "file:///a" : uri];
    edit(uri, held);
    check(uri, held);
  }

  size_t equal() const { return equal_; }

 private:
  struct Held {
    DullText text;
    bool open = false, in_sync = false;
  };

  void edit(const std::string& uri, Held& held) {
    switch (pick(40)) {
      case 0:
        if (held.open && pick(2) == 0) return;
        held = {DullText(some_text(20)), true, true};
        return client_.open(uri, held.text.str(), pick(2) == 0 ? "c" : "python", version());
      case 1:
        held = {};
        return client_.notify("textDocument/didClose", {{"textDocument", {{"uri", uri}}}});
      default:
        return change(uri, held);
    }
  }

  void check(const std::string& uri, const Held& held) {
    const json hash = client_.request("foretoken/documentHash", {{"uri", uri}})["result"];
    ASSERT_EQ(hash.is_null(), !held.open);
    if (!held.open) return;
    ASSERT_EQ(hash["in_sync"], held.in_sync);
    if (!held.in_sync) {
      ASSERT_EQ(client_.complete(uri, 0, 0)["result"]["items"].size(), 0u);
      return;
    }
    ASSERT_EQ(hash["bytes"], held.text.str().size());
    ASSERT_EQ(hash["sha256"], sha256(held.text.str()));
    ++equal_;
  }

  void change(const std::string& uri, Held& held) {
    json changes = json::array();
    const bool was_open = held.open;
    if (!was_open) held.in_sync = false;
    held.open = true;
    for (size_t i = 1 + pick(3); i > 0; --i) {
      const std::string text = some_text(4);
      if (pick(12) == 0) {
        changes.push_back({{"text", text}});
        held.text = DullText(text);
        held.in_sync = true;
        continue;
      }
      const Range range = some_range(held.text);
      changes.push_back(
          {{"range",
            {{"start", {{"line", range.start.line}, {"character", range.start.character}}},
             {"end", {{"line", range.end.line}, {"character", range.end.character}}}}},
           {"rangeLength", pick(50)},
           {"text", text}});
      if (held.in_sync) held.in_sync = held.text.replace(range, encoding_, text);
    }
    client_.change(uri, version(), changes);
  }

  Range some_range(const DullText& text) {
    const auto line = [&] {
      return static_cast<uint32_t>(pick(text.lines() + (pick(20) == 0 ? 3 : 0)));
    };
    const auto column = [&] {
      return pick(15) == 0 ? static_cast<uint32_t>(1'000'000 + pick(4'000'000'000u))
                           : static_cast<uint32_t>(pick(12));
    };
    Range range{{line(), column()}, {line(), column()}};
    if (pick(30) == 0) range = {{0, 0}, {static_cast<uint32_t>(pick(3'000'000'000u)), 0}};
    if (range.end < range.start && pick(25) != 0) std::swap(range.start, range.end);
    return range;
  }

  std::string some_text(size_t most) {
    static const std::vector<std::string> kPieces = {
        "a", "b ", "é", "漢", "😀", "👩‍💻", "\n", "\r\n", "\r", "\t", "x = 1;"};
    std::string out;
    for (size_t i = pick(most + 1); i > 0; --i) out += kPieces[pick(kPieces.size())];
    return out;
  }

  int version() { return static_cast<int>(pick(100)); }  // skips, repeats, goes back
  uint64_t pick(uint64_t below) { return random_() % below; }

  const std::vector<std::string> kUris = {"file:///a", "file:///%61", "untitled:b",
                                          "file:///c%20d"};
  std::mt19937_64 random_;
  const PositionEncoding encoding_;
  LspClient client_;
  std::map<std::string, Held> held_;
  size_t equal_ = 0;
};

TEST(Edits, EqualADullModelInAllEncodings) {
  for (const auto encoding :
       {PositionEncoding::utf8, PositionEncoding::utf16, PositionEncoding::utf32}) {
    SCOPED_TRACE(std::string(name(encoding)) + ", seed 11");
    EditStorm storm(11, encoding);
    for (int step = 0; step < 17'000; ++step) {
      storm.step();
      if (testing::Test::HasFatalFailure()) FAIL() << "step " << step;
    }
    EXPECT_GT(storm.equal(), 8'000u);  // in sync most of the time
  }
}

}  // namespace
}  // namespace foretoken::lsp

#include "engine/error.h"

#include <gtest/gtest.h>

namespace foretoken::engine {
namespace {

TEST(Printable, LeavesTextAndSpellsOutWhatMovesIt) {
  EXPECT_EQ(printable("blk.0.attn_q.weight"), "blk.0.attn_q.weight");
  EXPECT_EQ(printable("été 日本 😀"), "été 日本 😀");
  EXPECT_EQ(printable("\x1b[31m\n\t\r"), "\\x1B[31m\\x0A\\x09\\x0D");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\x7f"), "\\x7F");
  EXPECT_EQ(printable("\xc2\x85\xc2\x9b"), "\\u{85}\\u{9B}");        // C1 controls
  EXPECT_EQ(printable("a\u202eb\u2066c"), "a\\u{202E}b\\u{2066}c");  // bidirectional
  EXPECT_EQ(printable("\u200b\ufeff\u2028"), "\\u{200B}\\u{FEFF}\\u{2028}");
  EXPECT_EQ(printable("\xff\xc3"), "\\xFF\\xC3");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xED\\xA0\\x80");  // a surrogate
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable("0123456789", 10), "0123456789");
  EXPECT_EQ(printable("0123456789x", 10), "0123456...");
  EXPECT_EQ(printable("ééééé", 9), "ééé...");
  EXPECT_EQ(printable("\x01\x01\x01", 10), "\\x01...");
  EXPECT_EQ(printable("abcdef", 2), "..");
  EXPECT_EQ(printable(std::string(1 << 20, 'x'), 80).size(), 80u);
}

}  // namespace
}  // namespace foretoken::engine

#include "lsp/framing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace foretoken::lsp {
namespace {

std::string shown(const std::vector<Frame>& frames) {
  std::string out;
  for (const Frame& frame : frames) {
    const char* kind = frame.kind == Frame::Kind::message   ? "M"
                       : frame.kind == Frame::Kind::skipped ? "S"
                                                            : "F";
    out += std::string(kind) + (frame.kind == Frame::Kind::message ? "(" + frame.text + ")" : "");
  }
  return out;
}

std::vector<Frame> read(std::string_view bytes, size_t step, FrameLimits limits = {}) {
  FrameReader reader(limits);
  std::vector<Frame> frames;
  for (size_t at = 0; at < bytes.size(); at += step) {
    reader.feed(bytes.substr(at, step), [&](Frame frame) { frames.push_back(std::move(frame)); });
  }
  return frames;
}

struct Case {
  const char* name;
  std::string bytes;
  std::string frames;  // M(body), S skipped, F fatal
};

std::vector<Case> cases() {
  const std::string ok = "Content-Length: 2\r\n\r\n{}";
  return {
      {"plain", ok, "M({})"},
      {"two", ok + ok, "M({})M({})"},
      {"lower case", "content-length: 2\r\n\r\n{}", "M({})"},
      {"upper case", "CONTENT-LENGTH: 2\r\n\r\n{}", "M({})"},
      {"no blank", "Content-Length:2\r\n\r\n{}", "M({})"},
      {"many blanks", "Content-Length \t:  \t2 \t\r\n\r\n{}", "M({})"},
      {"leading zeros", "Content-Length: 0002\r\n\r\n{}", "M({})"},
      {"type first", "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n" + ok, "M({})"},
      {"type second",
       "Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n{}",
       "M({})"},
      {"type quoted", "Content-Type: a/b; charset=\"UTF-8\"; x=y\r\n" + ok, "M({})"},
      {"type without charset", "Content-Type: application/json\r\n" + ok, "M({})"},
      {"bare LF", "Content-Length: 2\n\n{}", "M({})"},
      {"mixed line ends", "Content-Length: 2\r\n\n{}", "M({})"},
      {"empty body", "Content-Length: 0\r\n\r\n" + ok, "M()M({})"},
      {"other charset", "Content-Type: a/b; charset=latin1\r\n" + ok + ok, "SM({})"},
      {"too long, then fine", "Content-Length: 2000\r\n\r\n" + std::string(2000, 'x') + ok,
       "SM({})"},
      {"too long, never sent", "Content-Length: 2147483648\r\n\r\n", "S"},
      {"absent length", "\r\n" + ok, "F"},
      {"type alone", "Content-Type: a/b\r\n\r\n{}", "F"},
      {"negative", "Content-Length: -1\r\n\r\n{}", "F"},
      {"plus", "Content-Length: +2\r\n\r\n{}", "F"},
      {"hexadecimal", "Content-Length: 0x2\r\n\r\n{}", "F"},
      {"fraction", "Content-Length: 2.0\r\n\r\n{}", "F"},
      {"no digits", "Content-Length: \r\n\r\n{}", "F"},
      {"word", "Content-Length: two\r\n\r\n{}", "F"},
      {"two numbers", "Content-Length: 2 2\r\n\r\n{}", "F"},
      {"2^63", "Content-Length: 9223372036854775808\r\n\r\n{}", "F"},
      {"2^64 + 2", "Content-Length: 18446744073709551618\r\n\r\n{}", "F"},
      {"400 digits", "Content-Length: " + std::string(400, '9') + "\r\n\r\n{}", "F"},
      {"400 zeros", "Content-Length: " + std::string(400, '0') + "2\r\n\r\n{}", "M({})"},
      {"given twice", "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "F"},
      {"given twice, differing", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "F"},
      {"type twice", "Content-Type: a/b\r\nContent-Type: a/b\r\n" + ok, "F"},
      {"unknown header", "X-Y: z\r\n" + ok, "F"},
      {"browser POST", "POST / HTTP/1.1\r\nHost: localhost\r\n" + ok, "F"},
      {"browser GET", "GET http://localhost/ HTTP/1.1\r\n\r\n", "F"},
      {"BOM", "\xEF\xBB\xBF" + ok, "F"},
      {"folded line", " Content-Length: 2\r\n\r\n{}", "F"},
      {"JSON without headers", "{\"jsonrpc\":\"2.0\"}\n", "F"},
      {"NUL", std::string("Content-Length: 2\0\r\n\r\n{}", 25), "F"},
      {"endless line", std::string(9000, 'a'), "F"},
      {"endless line of a known header", "Content-Length: " + std::string(9000, ' '), "F"},
      {"body short of its length", "Content-Length: 10\r\n\r\n{}", ""},
      {"nothing after a fault", "X: y\r\n" + ok + ok, "F"},
  };
}

TEST(Framing, FaultTable) {
  FrameLimits limits;
  limits.body = 1000;
  for (const Case& c : cases()) {
    for (const size_t step : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, c.bytes.size()}) {
      EXPECT_EQ(shown(read(c.bytes, step, limits)), c.frames)
          << c.name << ", " << step << " bytes at a time";
    }
  }
}

TEST(Framing, EndlessHeadersEnd) {
  // Both names are taken after two lines, so only blanks could go on for ever.
  FrameLimits limits;
  limits.headers = 100;
  EXPECT_EQ(shown(read("Content-Type: " + std::string(200, ' '), 1, limits)), "F");
}

TEST(Framing, FaultsSayWhatIsWrong) {
  const auto frames = read("Content-Length: -5\r\n\r\n", 4);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].text, "Content-Length is not a number: \"-5\"");
}

TEST(Framing, KnowsWhereAStreamMayEnd) {
  const std::string bytes = "Content-Length: 2\r\n\r\n{}";
  FrameReader reader;
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(reader.between_frames(), i == 0) << i;
    reader.feed(bytes.substr(i, 1), [](Frame) {});
  }
  EXPECT_TRUE(reader.between_frames());
}

TEST(Framing, LargestBodyArrivesWhole) {
  const FrameLimits limits;
  const std::string body(limits.body, 'x');
  const auto frames = read(frame_header(body.size()) + body, 1u << 16);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].text.size(), limits.body);
  EXPECT_EQ(shown(read(frame_header(body.size() + 1), 100)), "S");
}

}  // namespace
}  // namespace foretoken::lsp

// LSP base protocol framing: header lines, a blank line, Content-Length bytes. The peer is
// untrusted; nothing is reserved before its bytes arrive. No I/O here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace foretoken::lsp {

struct FrameLimits {
  size_t body = 64u << 20;
  size_t line = 8u << 10;
  size_t headers = 64u << 10;
  uint64_t skippable = 4ull << 30;  // a longer body is not waited for
};

/// What the bytes amount to. `skipped`: a well-formed frame that is refused (too long, or in
/// another charset); its body is dropped as it arrives and the stream goes on. `fatal`: the stream
/// has no next frame; `text` says why.
struct Frame {
  enum class Kind : uint8_t { message, skipped, fatal };
  Kind kind;
  std::string text;  // the body, or the reason
};

/// Bytes in, frames out. Belongs to one thread, whichever reads.
///
/// Only Content-Length and Content-Type are accepted: a reader that passes over unknown headers
/// takes a browser's HTTP POST for a message. Names are case-insensitive, blanks around values are
/// optional, a line may end in a bare \n.
class FrameReader {
 public:
  explicit FrameReader(FrameLimits limits = {}) : limits_(limits) {}

  /// Calls `sink` for each frame these bytes complete. Returns false once the stream is broken;
  /// bytes after that are ignored.
  bool feed(std::string_view bytes, const std::function<void(Frame)>& sink);

  /// True where the stream may end without having cut a frame.
  bool between_frames() const { return state_ == State::headers && header_bytes_ == 0; }

 private:
  enum class State : uint8_t { headers, body, skip, broken };

  std::string_view take_header_bytes(std::string_view bytes, std::string* fault);
  std::string take_line(std::string_view line);
  std::string take_length(std::string_view value);
  std::string take_type(std::string_view value);
  std::string end_of_headers(const std::function<void(Frame)>& sink);
  void next_frame();

  FrameLimits limits_;
  State state_ = State::headers;
  std::string line_, body_;
  size_t header_bytes_ = 0;
  bool line_complete_ = false, has_length_ = false, has_type_ = false;
  uint64_t length_ = 0, left_ = 0;
  std::string refusal_;  // not empty: skip this frame's body
};

/// "Content-Length: N\r\n\r\n"
std::string frame_header(size_t body_bytes);

}  // namespace foretoken::lsp

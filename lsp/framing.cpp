#include "lsp/framing.h"

#include <algorithm>
#include <limits>

namespace foretoken::lsp {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// Header text as it may appear in a log line: short and printable.
std::string shown(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 40)) out += c >= ' ' && c < 0x7f ? c : '?';
  return text.size() > 40 ? out + "…" : out;
}

}  // namespace

std::string frame_header(size_t body_bytes) {
  return "Content-Length: " + std::to_string(body_bytes) + "\r\n\r\n";
}

bool FrameReader::feed(std::string_view bytes, const std::function<void(Frame)>& sink) {
  while (state_ != State::broken) {
    std::string fault;
    if (state_ == State::headers) {
      if (bytes.empty()) return true;
      bytes = take_header_bytes(bytes, &fault);
      if (fault.empty() && line_complete_) {
        line_complete_ = false;
        std::string line = std::move(line_);
        line_.clear();
        if (!line.empty() && line.back() == '\r') line.pop_back();
        fault = line.empty() ? end_of_headers(sink) : take_line(line);
      }
    } else {
      const size_t take = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size()));
      if (state_ == State::body) body_.append(bytes.substr(0, take));
      bytes.remove_prefix(take);
      left_ -= take;
      if (left_ > 0) return true;
      const bool whole = state_ == State::body;
      std::string body = std::move(body_);
      next_frame();
      if (whole) sink({Frame::Kind::message, std::move(body)});
    }
    if (!fault.empty()) {
      state_ = State::broken;
      line_ = {};
      sink({Frame::Kind::fatal, std::move(fault)});
    }
  }
  return false;
}

/// Moves bytes up to and including the next \n into line_ (without it). Returns what is left.
std::string_view FrameReader::take_header_bytes(std::string_view bytes, std::string* fault) {
  const size_t end = bytes.find('\n');
  line_complete_ = end != std::string_view::npos;
  const std::string_view part = bytes.substr(0, end);
  header_bytes_ += part.size() + (line_complete_ ? 1 : 0);
  if (line_.size() + part.size() > limits_.line) {
    *fault = "a header line is longer than " + std::to_string(limits_.line) + " bytes";
  } else if (header_bytes_ > limits_.headers) {
    *fault =
        "the headers of a message are longer than " + std::to_string(limits_.headers) + " bytes";
  } else {
    line_.append(part);
  }
  return line_complete_ ? bytes.substr(end + 1) : std::string_view{};
}

std::string FrameReader::take_line(std::string_view line) {
  const size_t colon = line.find(':');
  const std::string name = colon == std::string_view::npos ? "" : lower(line.substr(0, colon));
  const std::string_view key = std::string_view(name).substr(0, name.find_last_not_of(" \t") + 1);
  if (key == "content-length") return take_length(trim(line.substr(colon + 1)));
  if (key == "content-type") return take_type(trim(line.substr(colon + 1)));
  return "not an LSP header: \"" + shown(line) +
         "\"; only Content-Length and Content-Type are accepted";
}

std::string FrameReader::take_length(std::string_view value) {
  if (has_length_) return "Content-Length is given twice";
  has_length_ = true;
  if (value.empty() || value.find_first_not_of("0123456789") != std::string_view::npos) {
    return "Content-Length is not a number: \"" + shown(value) + "\"";
  }
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  length_ = 0;
  for (char c : value) {  // saturates
    const uint64_t digit = static_cast<uint64_t>(c - '0');
    length_ = length_ > (kMost - digit) / 10 ? kMost : length_ * 10 + digit;
  }
  if (length_ > limits_.skippable) {
    return "Content-Length " + shown(value) + " is out of all proportion; the limit is " +
           std::to_string(limits_.body) + " bytes";
  }
  return {};
}

std::string FrameReader::take_type(std::string_view value) {
  if (has_type_) return "Content-Type is given twice";
  has_type_ = true;
  const std::string type = lower(value);
  const size_t at = type.find("charset=");
  if (at == std::string::npos) return {};
  std::string charset = type.substr(at + 8, type.find(';', at) - (at + 8));
  std::erase_if(charset, [](char c) { return c == '"' || is_blank(c); });
  if (charset != "utf-8" && charset != "utf8") {
    refusal_ = "the charset of a message is \"" + shown(charset) + "\"; send utf-8";
  }
  return {};
}

std::string FrameReader::end_of_headers(const std::function<void(Frame)>& sink) {
  if (!has_length_) return "Content-Length is missing";
  left_ = length_;
  if (length_ > limits_.body) {
    refusal_ = "a message of " + std::to_string(length_) + " bytes was passed over; the limit is " +
               std::to_string(limits_.body);
  }
  state_ = refusal_.empty() ? State::body : State::skip;
  if (state_ == State::skip) sink({Frame::Kind::skipped, refusal_});
  return {};
}

void FrameReader::next_frame() {
  state_ = State::headers;
  line_.clear();
  body_ = {};
  header_bytes_ = 0;
  has_length_ = has_type_ = false;
  refusal_.clear();
}

}  // namespace foretoken::lsp

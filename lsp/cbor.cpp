#include "lsp/cbor.h"

#include <bit>
#include <cmath>
#include <limits>

namespace foretoken::lsp {

void CborWriter::head(uint8_t major, uint64_t value) {
  int bytes = 0;
  uint8_t info = static_cast<uint8_t>(value);
  if (value > 0xffffffff) {
    bytes = 8, info = 27;
  } else if (value > 0xffff) {
    bytes = 4, info = 26;
  } else if (value > 0xff) {
    bytes = 2, info = 25;
  } else if (value > 23) {
    bytes = 1, info = 24;
  }
  out_ += static_cast<char>(major << 5 | info);
  while (bytes-- > 0) out_ += static_cast<char>(value >> (8 * bytes));
}

void CborWriter::integer(int64_t value) {
  if (value >= 0) return head(0, static_cast<uint64_t>(value));
  head(1, ~static_cast<uint64_t>(value));
}

void CborWriter::real(double value) {
  if (std::isnan(value)) value = 0;
  constexpr double kMost = std::numeric_limits<double>::max();
  value = std::fmin(std::fmax(value, -kMost), kMost);
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  out_ += '\xfb';
  for (int shift = 56; shift >= 0; shift -= 8) out_ += static_cast<char>(bits >> shift);
}

void CborReader::fail(const char* what) {
  if (fault_ == nullptr) fault_ = what;
  rest_ = {};
}

bool CborReader::raw_head(uint8_t* major, uint8_t* info, uint64_t* value) {
  if (rest_.empty()) {
    fail("a message is cut short");
    return false;
  }
  const auto first = static_cast<uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  *major = first >> 5;
  *info = first & 31;
  *value = *info;
  if (*info < 24) return true;
  if (*info > 27) {
    fail("a message has an item of a kind that is not used here");
    return false;
  }
  const size_t bytes = size_t{1} << (*info - 24);
  if (rest_.size() < bytes) {
    fail("a message is cut short");
    return false;
  }
  *value = 0;
  for (size_t i = 0; i < bytes; ++i) *value = *value << 8 | static_cast<uint8_t>(rest_[i]);
  rest_.remove_prefix(bytes);
  return true;
}

bool CborReader::head(uint8_t wanted, uint64_t* value) {
  uint8_t major = 0, info = 0;
  if (!raw_head(&major, &info, value)) return false;
  if (major == wanted) return true;
  fail("a message has an item of the wrong kind");
  return false;
}

size_t CborReader::count(uint8_t major, size_t most, size_t bytes_each) {
  uint64_t value = 0;
  if (!head(major, &value)) return 0;
  if (value > most || value > rest_.size() / bytes_each) {
    fail("a message says that it has more items than it may");
    return 0;
  }
  return static_cast<size_t>(value);
}

size_t CborReader::map(size_t most) {
  return count(5, most, 2);
}

size_t CborReader::array(size_t most) {
  return count(4, most, 1);
}

std::string_view CborReader::string(uint8_t major) {
  uint64_t length = 0;
  if (!head(major, &length)) return {};
  if (length > rest_.size()) {
    fail("a message is cut short");
    return {};
  }
  const std::string_view text = rest_.substr(0, static_cast<size_t>(length));
  rest_.remove_prefix(text.size());
  return text;
}

std::string_view CborReader::key() {
  return string(3);
}

std::string_view CborReader::bytes() {
  return string(2);
}

uint64_t CborReader::number() {
  uint64_t value = 0;
  return head(0, &value) ? value : 0;
}

int64_t CborReader::integer() {
  uint8_t major = 0, info = 0;
  uint64_t value = 0;
  if (!raw_head(&major, &info, &value)) return 0;
  if (major > 1 || value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    fail("a message has an item of the wrong kind");
    return 0;
  }
  return static_cast<int64_t>(major == 0 ? value : ~value);
}

double CborReader::real() {
  uint8_t major = 0, info = 0;
  uint64_t bits = 0;
  if (!raw_head(&major, &info, &bits)) return 0;
  const double value = std::bit_cast<double>(bits);
  if (major == 7 && info == 27 && std::isfinite(value)) return value;
  fail("a message has an item of the wrong kind");
  return 0;
}

bool CborReader::flag() {
  uint8_t major = 0, info = 0;
  uint64_t value = 0;
  if (!raw_head(&major, &info, &value)) return false;
  if (major != 7 || (info != 20 && info != 21)) fail("a message has an item of the wrong kind");
  return fault_ == nullptr && info == 21;
}

void CborReader::skip() {
  // Every item takes a byte at least, so this ends; nothing is kept, so depth costs nothing.
  for (uint64_t left = 1; left > 0 && fault_ == nullptr; --left) {
    uint8_t major = 0, info = 0;
    uint64_t value = 0;
    if (!raw_head(&major, &info, &value)) return;
    if (major == 2 || major == 3) {
      if (value > rest_.size()) return fail("a message is cut short");
      rest_.remove_prefix(static_cast<size_t>(value));
    } else if (major == 4 || major == 5) {
      if (value > rest_.size()) return fail("a message is cut short");
      left += major == 5 ? 2 * value : value;
    } else if (major == 6) {
      ++left;  // a tag stands before its item
    }
  }
}

}  // namespace foretoken::lsp

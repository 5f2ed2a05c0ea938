// CBOR (RFC 8949) for messages between processes: maps, arrays, numbers, strings of bytes, all of
// definite length. No tree is built: a reader walks the bytes once, so that a hostile message can
// neither nest deep nor make small bytes into much memory. (A JSON library's CBOR recurses as deep as
// its input says.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken::lsp {

/// Belongs to one thread.
class CborWriter {
 public:
  void map(size_t pairs) { head(5, pairs); }
  void array(size_t items) { head(4, items); }
  void key(std::string_view text) { head(3, text.size()), out_ += text; }
  void bytes(std::string_view bytes) { head(2, bytes.size()), out_ += bytes; }
  void number(uint64_t value) { head(0, value); }
  void integer(int64_t value);
  void real(double value);  // what is not finite becomes the nearest that is; no number: 0
  void flag(bool value) { out_ += value ? '\xf5' : '\xf4'; }

  std::string take() { return std::move(out_); }

 private:
  void head(uint8_t major, uint64_t value);
  std::string out_;
};

/// Reads what CborWriter writes from bytes that are not trusted. After a fault every value is empty
/// or zero. Views point into the input. Belongs to one thread.
class CborReader {
 public:
  explicit CborReader(std::string_view bytes) : rest_(bytes) {}

  /// The number of pairs or items: never more than the bytes that are left, nor than `most`.
  size_t map(size_t most);
  size_t array(size_t most);
  std::string_view key();
  std::string_view bytes();
  uint64_t number();
  int64_t integer();
  double real();  // finite
  bool flag();
  void skip();    // one value, whatever it is

  bool at_end() const { return rest_.empty(); }
  const char* fault() const { return fault_; }  // nullptr: none
  void fail(const char* what);

 private:
  bool head(uint8_t major, uint64_t* value);
  size_t count(uint8_t major, size_t most, size_t bytes_each);
  std::string_view string(uint8_t major);
  bool raw_head(uint8_t* major, uint8_t* info, uint64_t* value);

  std::string_view rest_;
  const char* fault_ = nullptr;
};

}  // namespace foretoken::lsp

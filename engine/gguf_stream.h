// The bytes of a model file, read once from front to back for the header, then at any place. Knows
// the file's size, what has been read and which field is being read: so every fault has a place.
#pragma once

#include <sys/stat.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::engine {

static_assert(std::endian::native == std::endian::little, "GGUF values are read as they lie");

/// Header reading belongs to one thread; read_at() is thread-safe. Takes memory only for bytes that
/// the file really has. All faults are ModelErrors: "PATH: what (field NAME, byte OFFSET); remedy".
class GgufStream {
 public:
  static constexpr uint64_t kHeader = 256u << 20;  // a header larger than this is not a model's

  explicit GgufStream(const std::string& path);  // throws where it is no readable regular file
  ~GgufStream();
  GgufStream(const GgufStream&) = delete;
  GgufStream& operator=(const GgufStream&) = delete;

  const std::string& path() const { return path_; }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t offset() const { return window_offset_ + position_; }  // of the next byte
  uint64_t left() const { return file_bytes_ - offset(); }

  /// Names what is read next.
  void field(std::string_view name);

  void bytes(void* to, uint64_t count);
  template <typename T>
  T value() {
    T v;
    bytes(&v, sizeof v);
    return v;
  }
  uint32_t u32() { return value<uint32_t>(); }
  uint64_t u64() { return value<uint64_t>(); }
  std::string_view string(uint64_t limit);     // u64 length + bytes
  std::span<const char> keep(uint64_t count);  // bytes, kept as long as this object
  /// Throws where `count` more bytes would make the header larger than kHeader.
  void may_hold(uint64_t count);
  void finish();  // the header is read: gives back what only reading needed

  /// Reads exactly to.size() bytes. Throws where the file is no longer what it was when it was
  /// opened.
  void read_at(uint64_t offset, std::span<std::byte> to, std::string_view field) const;

  /// Fault in the value that began last.
  [[noreturn]] void fail(std::string_view what, std::string_view remedy = kDamaged) const;
  [[noreturn]] void fail_at(uint64_t offset, std::string_view what,
                            std::string_view remedy = kDamaged) const;

 private:
  static constexpr std::string_view kDamaged = "the file is damaged: get it again";
  void refill();
  char* allocate(uint64_t count);

  std::string path_;
  int fd_ = -1;
  uint64_t file_bytes_ = 0;
  timespec modified_{};

  std::vector<char> window_;  // file bytes from window_offset_ on
  uint64_t window_offset_ = 0;
  size_t position_ = 0;  // in window_
  uint64_t value_offset_ = 0;
  std::string field_;

  std::vector<std::unique_ptr<char[]>> chunks_;  // kept bytes
  char* free_ = nullptr;
  uint64_t free_bytes_ = 0;
};

}  // namespace foretoken::engine

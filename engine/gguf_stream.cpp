#include "engine/gguf_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "engine/error.h"

namespace foretoken::engine {

namespace {

constexpr size_t kWindow = 256u << 10;
constexpr uint64_t kChunk = 256u << 10;

std::string reason(int error) {
  return std::system_category().message(error);
}

[[noreturn]] void fail_file(const std::string& path, std::string_view what,
                            std::string_view remedy) {
  throw ModelError(printable(path, 4096) + ": " + std::string(what) + "; " + std::string(remedy));
}

/// Reads until `count` bytes or the end of the file; the number read, or -1 with errno.
ssize_t read_fully(int fd, char* to, size_t count, uint64_t offset) {
  size_t done = 0;
  while (done < count) {
    const ssize_t n = ::pread(fd, to + done, count - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace

GgufStream::GgufStream(const std::string& path) : path_(path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd_ < 0) {
    const int error = errno;
    fail_file(
        path, "the model file cannot be opened: " + reason(error),
        error == ENOENT ? "check the path, or pull a model" : "check the path and permissions");
  }
  struct stat status{};
  const char* fault = nullptr;
  if (::fstat(fd_, &status) != 0) {
    fault = "the model file's status cannot be read";
  } else if (S_ISDIR(status.st_mode)) {
    fault = "this is a directory, not a model file";
  } else if (!S_ISREG(status.st_mode)) {
    fault = "this is not a regular file";
  }
  if (fault != nullptr) {
    ::close(fd_);
    fail_file(path, fault, "name a GGUF file");
  }
  file_bytes_ = static_cast<uint64_t>(status.st_size);
  modified_ = status.st_mtim;
}

GgufStream::~GgufStream() {
  ::close(fd_);
}

void GgufStream::field(std::string_view name) {
  field_.assign(name);
  value_offset_ = offset();
}

void GgufStream::refill() {
  window_offset_ += window_.size();
  position_ = 0;
  window_.resize(std::min<uint64_t>(kWindow, file_bytes_ - window_offset_));
  const ssize_t n = read_fully(fd_, window_.data(), window_.size(), window_offset_);
  if (n == static_cast<ssize_t>(window_.size())) return;
  const std::string what = n < 0 ? "the file cannot be read: " + reason(errno)
                                 : std::string("the file became shorter while it was read");
  window_.clear();
  fail(what, "try again");
}

void GgufStream::bytes(void* to, uint64_t count) {
  if (count > left()) {
    fail("the file is cut off: " + std::to_string(count) + " bytes are needed, " +
             std::to_string(left()) + " are left",
         "get it again");
  }
  char* out = static_cast<char*>(to);
  while (count > 0) {
    if (position_ == window_.size()) refill();
    const size_t n = std::min<uint64_t>(count, window_.size() - position_);
    std::memcpy(out, window_.data() + position_, n);
    position_ += n;
    out += n;
    count -= n;
  }
}

std::string_view GgufStream::string(uint64_t limit) {
  value_offset_ = offset();
  const uint64_t length = u64();
  if (length > left()) {
    fail("a string of " + std::to_string(length) + " bytes does not fit in the " +
         std::to_string(left()) + " bytes left");
  }
  if (length > limit) {
    fail("a string of " + std::to_string(length) + " bytes is longer than the limit of " +
         std::to_string(limit));
  }
  const std::span<const char> kept = keep(length);
  return {kept.data(), kept.size()};
}

void GgufStream::may_hold(uint64_t count) {
  if (count > kHeader || offset() > kHeader - count) {
    fail("the header is larger than " + std::to_string(kHeader) + " bytes", "choose another model");
  }
}

std::span<const char> GgufStream::keep(uint64_t count) {
  may_hold(count);
  if (count > left()) fail("the file is cut off", "get it again");
  char* memory = allocate(count);
  bytes(memory, count);
  return {memory, count};
}

char* GgufStream::allocate(uint64_t count) {
  if (count > free_bytes_) {
    if (count >= kChunk / 8) {  // a chunk of its own
      chunks_.push_back(std::make_unique_for_overwrite<char[]>(count));
      return chunks_.back().get();
    }
    // No larger than what can still come, so that small files stay small.
    free_bytes_ = std::max(count, std::min(kChunk, left()));
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(free_bytes_));
    free_ = chunks_.back().get();
  }
  char* memory = free_;
  free_ += count;
  free_bytes_ -= count;
  return memory;
}

void GgufStream::finish() {
  window_offset_ = offset();
  position_ = 0;
  window_.clear();
  window_.shrink_to_fit();
}

void GgufStream::read_at(uint64_t offset, std::span<std::byte> to, std::string_view field) const {
  const ssize_t n = read_fully(fd_, reinterpret_cast<char*>(to.data()), to.size(), offset);
  const int error = errno;
  struct stat now{};
  const bool changed =
      ::fstat(fd_, &now) != 0 || static_cast<uint64_t>(now.st_size) != file_bytes_ ||
      now.st_mtim.tv_sec != modified_.tv_sec || now.st_mtim.tv_nsec != modified_.tv_nsec;
  if (!changed && n == static_cast<ssize_t>(to.size())) return;
  const std::string what = changed ? std::string("the model file was changed while in use")
                           : n < 0 ? "the model file cannot be read: " + reason(error)
                                   : std::string("the model file ended early");
  fail_file(path_, what + " (field " + printable(field) + ", byte " + std::to_string(offset) + ")",
            "load the model again");
}

void GgufStream::fail(std::string_view what, std::string_view remedy) const {
  fail_at(value_offset_, what, remedy);
}

void GgufStream::fail_at(uint64_t offset, std::string_view what, std::string_view remedy) const {
  fail_file(
      path_,
      std::string(what) + " (field " + printable(field_) + ", byte " + std::to_string(offset) + ")",
      remedy);
}

}  // namespace foretoken::engine

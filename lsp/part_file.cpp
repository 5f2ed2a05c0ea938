#include "lsp/part_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <sstream>
#include <vector>

namespace foretoken::lsp {

PartFile::PartFile(const PrivateFolder& folder, std::string name, const std::string& kind,
                   std::string origin)
    : folder_(folder),
      name_(std::move(name)),
      part_(name_ + "." + kind + ".part"),
      from_(name_ + "." + kind + ".from"),
      origin_(std::move(origin)) {
  fd_ = folder_.open(part_, O_RDWR | O_CREAT);
  std::istringstream note(folder_.read_small(from_).value_or(""));
  std::string origin_then, size_then;
  std::getline(note, origin_then);
  std::getline(note, mark_);
  std::getline(note, size_then);
  struct stat info{};
  fstat(fd_.get(), &info);
  const auto parsed =
      std::from_chars(size_then.data(), size_then.data() + size_then.size(), checkpoint_);
  if (origin_then != origin_ || parsed.ec != std::errc() || checkpoint_ > uint64_t(info.st_size)) {
    restart();
    return;
  }
  size_ = uint64_t(info.st_size);
  sum_again();
}

void PartFile::sum_again() {
  sum_ = Sha256();
  std::vector<char> buffer(1 << 20);
  if (lseek(fd_.get(), 0, SEEK_SET) < 0) folder_.fail("read", part_, errno);
  for (uint64_t at = 0; at < size_;) {
    const ssize_t got =
        read(fd_.get(), buffer.data(), std::min<uint64_t>(buffer.size(), size_ - at));
    if (got <= 0) folder_.fail("read", part_, got < 0 ? errno : EIO);
    sum_.add({buffer.data(), size_t(got)});
    at += uint64_t(got);
  }
}

void PartFile::append(std::string_view bytes) {
  folder_.write_all(fd_, part_, bytes);
  sum_.add(bytes);
  size_ += bytes.size();
}

void PartFile::note() {
  folder_.write_small(from_, origin_ + "\n" + mark_ + "\n" + std::to_string(checkpoint_) + "\n");
}

void PartFile::checkpoint(const std::string& mark) {
  folder_.sync(fd_, part_);
  mark_ = mark;
  checkpoint_ = size_;
  note();
}

void PartFile::cut_back(uint64_t size, const std::string& mark) {
  if (ftruncate(fd_.get(), off_t(size)) != 0) folder_.fail("write", part_, errno);
  size_ = checkpoint_ = size;
  mark_ = mark;
  sum_again();
  note();
}

std::string PartFile::sha256() {
  return sum_.hex();
}

void PartFile::land() {
  folder_.sync(fd_, part_);
  folder_.rename(part_, name_);
  folder_.remove(from_);
}

void PartFile::discard() {
  folder_.remove(part_);
  folder_.remove(from_);
}

}  // namespace foretoken::lsp

#include "tests/support/temporary_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace foretoken::test {

TemporaryFile::TemporaryFile(std::string_view bytes) {
  path_ = (std::filesystem::temp_directory_path() / "foretoken-test-XXXXXX").string();
  const int fd = ::mkstemp(path_.data());
  if (fd < 0) throw std::runtime_error("no temporary file: " + path_);
  ::close(fd);
  overwrite(bytes);
}

TemporaryFile::~TemporaryFile() {
  ::unlink(path_.c_str());
}

void TemporaryFile::overwrite(std::string_view bytes) const {
  std::ofstream file(path_, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path_);
}

void TemporaryFile::truncate(size_t bytes) const {
  std::filesystem::resize_file(path_, bytes);
}

}  // namespace foretoken::test

// A file that lives as long as a test needs it.
#pragma once

#include <string>
#include <string_view>

namespace foretoken::test {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes);  // in the system's folder for such files
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  void overwrite(std::string_view bytes) const;  // the same file, in place
  void truncate(size_t bytes) const;

 private:
  std::string path_;
};

}  // namespace foretoken::test

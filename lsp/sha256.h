// SHA-256 while bytes pass by.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace foretoken::lsp {

/// Front thread.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void add(std::span<const char> bytes);
  std::string hex();                   // ends the sum; start a new object for another
  static std::string of_file(int fd);  // from its beginning; throws std::runtime_error

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace foretoken::lsp

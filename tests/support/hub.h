// A model hub for tests (hub_server.py) with a certificate of its own making.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace foretoken::test {

class Hub {
 public:
  explicit Hub(const std::string& content);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  std::string address() const { return "https://localhost:" + port_; }
  std::string certificate() const { return (folder_ / "certificate.pem").string(); }
  void set_content(const std::string& content) { folder_.write("content", content); }
  std::vector<std::string> requests() const;  // "PATH RANGE" each; "-": no range
  void stop();

 private:
  TempFolder folder_;
  std::string port_;
  pid_t pid_ = -1;
};

}  // namespace foretoken::test

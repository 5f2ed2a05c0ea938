// Runs the program as a script would, with a home folder of its own and the pocket model.
#pragma once

#include <string>

#include "tests/support/temp_folder.h"

namespace foretoken::test {

struct Ran {
  int status = -1;          // exit status; 128 + signal where a signal ended it
  std::string out, errors;  // stdout and stderr
};

/// A sandbox: HOME, caches and settings lie in a temporary folder; the working folder is `folder()`.
class Program {
 public:
  Program();
  const TempFolder& folder() const { return folder_; }
  /// `arguments` as a shell reads them; `input` on stdin.
  Ran run(const std::string& arguments, const std::string& input = "") const;

 private:
  TempFolder folder_;
};

}  // namespace foretoken::test

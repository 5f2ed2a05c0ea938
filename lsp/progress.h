// How far a pull is, for people: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "lsp/pull.h"

namespace foretoken::lsp {

/// "[#####-----]  43%  211 MB of 491 MB  12.3 MB/s  23 s left"; at most 79 columns. Pure.
std::string progress_line(uint64_t done, uint64_t total, double bytes_per_second, bool bar);

/// Front thread. Writes to `out` (stderr).
class Progress : public PullReporter {
 public:
  Progress(std::FILE* out, bool terminal) : out_(out), terminal_(terminal) {}
  void say(const std::string& line) override;
  void progress(uint64_t done, uint64_t total) override;
  void finished() override;

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now);

  std::FILE* out_;
  bool terminal_, bar_shown_ = false, running_ = false;
  uint64_t done_ = 0, total_ = 0, begun_at_ = 0, drawn_at_ = 0;
  Clock::time_point begun_, drawn_;
};

}  // namespace foretoken::lsp

#include "lsp/progress.h"

#include <algorithm>

namespace foretoken::lsp {
namespace {

std::string duration(double seconds) {
  const auto whole = uint64_t(seconds + 0.5);
  if (whole < 100) return std::to_string(whole) + " s";
  if (whole < 5400) return std::to_string((whole + 30) / 60) + " min";
  return std::to_string((whole + 1800) / 3600) + " h";
}

}  // namespace

std::string progress_line(uint64_t done, uint64_t total, double bytes_per_second, bool bar) {
  const double share = total ? std::min(1.0, double(done) / double(total)) : 0;
  std::string line;
  if (bar) {
    const auto filled = size_t(share * 26);
    line = "[" + std::string(filled, '#') + std::string(26 - filled, '-') + "] ";
  }
  char text[96];
  std::snprintf(text, sizeof text, "%3d%%  %s of %s", int(share * 100), human_bytes(done).c_str(),
                human_bytes(total).c_str());
  line += text;
  if (bytes_per_second > 0 && done < total) {
    std::snprintf(text, sizeof text, "  %.1f MB/s  %s left", bytes_per_second / 1e6,
                  duration(double(total - done) / bytes_per_second).c_str());
    line += text;
  }
  return line;
}

void Progress::say(const std::string& line) {
  if (bar_shown_) std::fputs("\r\033[K", out_);
  bar_shown_ = false;
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

void Progress::progress(uint64_t done, uint64_t total) {
  const auto now = Clock::now();
  if (!running_) {
    running_ = true;
    begun_ = drawn_ = now;
    begun_at_ = drawn_at_ = done;
  }
  done_ = done;
  total_ = total;
  const auto since = now - drawn_;
  const bool due = terminal_
                       ? since >= std::chrono::milliseconds(100)
                       : since >= std::chrono::seconds(15) ||
                             (since >= std::chrono::seconds(2) && (done - drawn_at_) * 10 >= total);
  if (due) draw(now);
}

void Progress::draw(Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  const double rate = seconds > 0.2 ? double(done_ - std::min(begun_at_, done_)) / seconds : 0;
  const std::string line = progress_line(done_, total_, rate, terminal_);
  std::fprintf(out_, terminal_ ? "\r%s\033[K" : "%s\n", line.c_str());
  std::fflush(out_);
  bar_shown_ = terminal_;
  drawn_ = now;
  drawn_at_ = done_;
}

void Progress::finished() {
  if (running_ && (bar_shown_ || (!terminal_ && done_ != drawn_at_))) draw(Clock::now());
  if (bar_shown_) std::fputc('\n', out_);
  bar_shown_ = running_ = false;
}

}  // namespace foretoken::lsp

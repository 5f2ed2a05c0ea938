// Notices that generated text goes round in circles: equal lines, cycles of lines, cycles within a
// line, runs of one character.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace foretoken::engine {

/// A value; constant work per byte.
class Repetition {
 public:
  /// `text` is all that was generated, its last byte the new one. A value: where to cut, which is
  /// after the first round of a cycle of lines, and before the line a run is in.
  std::optional<size_t> push(std::string_view text);

 private:
  struct Line {
    uint64_t hash;
    size_t end;  // without its line break
  };
  std::optional<size_t> end_line(std::string_view text);

  static constexpr size_t kLongestPeriod = 64;
  std::array<uint32_t, kLongestPeriod + 1> run_{};  // bytes equal to those `period` before them
  std::vector<Line> lines_;                         // those that are not blank
  size_t line_start_ = 0;
};

}  // namespace foretoken::engine

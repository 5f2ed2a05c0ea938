// What an editor adds right of the cursor by itself while one types: closing brackets and quotes, and
// the line that a closing bracket moves down to.
#pragma once

#include <cstddef>
#include <string_view>

namespace foretoken::engine {

inline constexpr size_t kAutoClosedBytes = 64;

inline bool auto_closed(std::string_view added) {
  return added.size() <= kAutoClosedBytes &&
         added.find_first_not_of(")]}>\"'`;, \t\n") == std::string_view::npos;
}

}  // namespace foretoken::engine

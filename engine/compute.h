// One request computed from layout to text. Engine thread.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/layout.h"
#include "engine/request.h"
#include "engine/runtime.h"

namespace foretoken::engine {

/// What the computation tells while it runs. All may be empty.
struct ComputeWatch {
  std::function<void(Stage stage)> stage;
  std::function<void(std::string indentation)> from_line_start;  // the text will replace what is typed
  std::function<bool(std::string_view text)> keep_on;            // as DecodeWatch
};

/// `layout` is where the request's document stands. Timings are filled but for queue_ms and total_ms;
/// ttft_ms counts from `start`.
Completion compute(Runtime& runtime, const Request& request, const Layout& layout,
                   std::chrono::steady_clock::time_point start, std::stop_token stop,
                   const ComputeWatch& watch);

}  // namespace foretoken::engine

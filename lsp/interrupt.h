// Ctrl-C as a question, for commands that have to end in an orderly way.
#pragma once

#include <signal.h>

namespace foretoken::lsp {

/// While it lives, SIGINT and SIGTERM only set seen(). One at a time. Front thread.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static bool seen();

 private:
  struct sigaction before_int_ {}, before_term_ {};
};

}  // namespace foretoken::lsp

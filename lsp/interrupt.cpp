#include "lsp/interrupt.h"

namespace foretoken::lsp {
namespace {

volatile sig_atomic_t interrupt_seen = 0;

}  // namespace

InterruptWatch::InterruptWatch() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt_seen = 1; };
  sigaction(SIGINT, &action, &before_int_);
  sigaction(SIGTERM, &action, &before_term_);
}

InterruptWatch::~InterruptWatch() {
  sigaction(SIGINT, &before_int_, nullptr);
  sigaction(SIGTERM, &before_term_, nullptr);
}

bool InterruptWatch::seen() { return interrupt_seen != 0; }

}  // namespace foretoken::lsp

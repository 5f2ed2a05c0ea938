#include "engine/completion.h"

namespace foretoken::engine {

const char* name(Finish finish) {
  switch (finish) {
    case Finish::stop: return "stop";
    case Finish::eos: return "eos";
    case Finish::length: return "length";
    case Finish::cancelled: return "cancelled";
    case Finish::device_lost: return "device_lost";
  }
  return "unknown";
}

const char* name(Mode mode) {
  switch (mode) {
    case Mode::decide: return "decide";
    case Mode::word: return "word";
    case Mode::line: return "line";
    case Mode::block: return "block";
  }
  return "unknown";
}

const char* name(Source source) {
  switch (source) {
    case Source::typed_through: return "typed_through";
    case Source::cache: return "cache";
    case Source::in_flight: return "in_flight";
    case Source::engine: return "engine";
  }
  return "unknown";
}

}  // namespace foretoken::engine

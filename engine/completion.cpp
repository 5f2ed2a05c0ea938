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

const char* name(StopReason reason) {
  switch (reason) {
    case StopReason::none: return "none";
    case StopReason::word_end: return "word_end";
    case StopReason::line_end: return "line_end";
    case StopReason::block_end: return "block_end";
    case StopReason::suffix_repeated: return "suffix_repeated";
    case StopReason::repetition: return "repetition";
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

const char* name(Stage stage) {
  switch (stage) {
    case Stage::none: return "none";
    case Stage::queue: return "queue";
    case Stage::prefill: return "prefill";
    case Stage::decode: return "decode";
  }
  return "unknown";
}

const char* name(Priority priority) {
  switch (priority) {
    case Priority::typing: return "typing";
    case Priority::background: return "background";
    case Priority::idle: return "idle";
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

// What the spelling of a token says about its use. Files often mark control tokens as ordinary or
// user-defined ones, so types alone cannot be trusted.
// Sources: llama.cpp src/llama-vocab.cpp and conversion/base.py; the models' own documentation.
#pragma once

#include <cstdint>
#include <string_view>

namespace foretoken::engine {

enum class ControlRole : uint8_t {
  none,
  fim_prefix,
  fim_suffix,
  fim_middle,
  fim_pad,
  repository,  // introduces a repository's name
  file,        // stands in front of a file or its name
  end,         // end of text, turn or message
};

/// The role of exactly this spelling.
ControlRole control_role(std::string_view text);

/// Spelt as converters spell control tokens: <|…|>, <｜…｜>, <unused…>, <pad>, <mask>, …
bool looks_like_control(std::string_view text);

}  // namespace foretoken::engine

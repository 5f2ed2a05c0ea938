// One warm keystroke, here and in llama-server: the same characters, the same model file, the same
// machine, by turns.
//
// A place is a line of a real file with 1,450 tokens before it and 500 behind it; that, and no more,
// is the document. Half of the line is typed key by key, and every key is asked of every side, one
// after the other, each when the processors have come to rest. This engine runs at every key, whatever
// it suggested before. A key counts where every side decoded the full number of tokens.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/tokenizer.h"
#include "lsp/completer.h"

namespace foretoken::lsp {

struct PeerComparisonSetup {
  std::string binary, version, model_file;
  int threads = 1;
  int keys = 24;  // that count
};

/// A line in its surroundings. `before` ends at the line's start, `after` begins with its line end.
struct PeerPlace {
  std::string path, before, line, after;
  size_t typed_from = 0;  // byte of the line at which typing begins
};

/// Lines of `text` with enough around them, in an order that `seed` decides. At most `most`.
std::vector<PeerPlace> choose_peer_places(const engine::Tokenizer& tokenizer, const std::string& path,
                                          const std::string& text, uint64_t seed, size_t most);

/// Throws std::runtime_error: the server fails, `places` give no key that counts, or `interrupted`.
nlohmann::ordered_json compare_with_peer(Completer& completer, const std::vector<PeerPlace>& places,
                                         const PeerComparisonSetup& setup,
                                         const std::function<bool()>& interrupted);

std::string peer_table(const nlohmann::ordered_json& comparison);

}  // namespace foretoken::lsp

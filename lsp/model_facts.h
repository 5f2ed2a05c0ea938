// What a model file says about itself, for people and scripts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace foretoken::engine {
class GgufFile;
}

namespace foretoken::lsp {

/// Immutable value. Strings from the file are escaped already.
struct ModelFacts {
  std::string architecture, title, licence;
  uint64_t parameters = 0;
  int layers = 0, width = 0, heads = 0, kv_heads = 0, feed_forward = 0, vocabulary = 0, context = 0;
  std::map<std::string, int> weights;  // tensors per type: {"Q4_K", 12}
  double bits_per_weight = 0;
  std::string split_rules;  // tokenizer.ggml.pre in use
  std::string fim_family, fim_order, fim_found_by;
  std::vector<std::pair<int, std::string>> stops;  // id, spelling
  std::string problem;  // why this program cannot run the file; "": it can
};

/// Never throws for what the file says (see `problem`).
ModelFacts model_facts(const engine::GgufFile& file);

}  // namespace foretoken::lsp

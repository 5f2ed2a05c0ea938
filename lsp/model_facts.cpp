#include "lsp/model_facts.h"

#include "engine/error.h"
#include "engine/fim.h"
#include "engine/gguf.h"
#include "engine/model.h"
#include "engine/tokenizer.h"
#include "kernels/quant.h"

namespace foretoken::lsp {
namespace {

std::string text_or(const engine::GgufFile& file, std::string_view key, const char* other) {
  const auto* value = file.find(key);
  const auto* text = value ? std::get_if<std::string_view>(value) : nullptr;
  return text ? engine::printable(*text) : other;
}

std::string order_name(engine::FimOrder order) {
  switch (order) {
    case engine::FimOrder::prefix_suffix_middle:
      return "prefix-suffix-middle";
    case engine::FimOrder::suffix_prefix_middle:
      return "suffix-prefix-middle";
    case engine::FimOrder::none:
      break;
  }
  return "left to right only";
}

void count_weights(const engine::GgufFile& file, ModelFacts& facts) {
  uint64_t bytes = 0;
  for (const engine::GgufTensor& tensor : file.tensors()) {
    uint64_t elements = 1;
    for (const uint64_t dim : tensor.dims) elements *= dim;
    facts.parameters += elements;
    bytes += tensor.bytes;
    ++facts.weights[std::string(kernels::dtype_info(tensor.type)->name)];
  }
  if (facts.parameters) facts.bits_per_weight = 8.0 * double(bytes) / double(facts.parameters);
}

}  // namespace

ModelFacts model_facts(const engine::GgufFile& file) {
  ModelFacts facts;
  facts.architecture = text_or(file, "general.architecture", "unknown");
  facts.title = text_or(file, "general.name", "");
  facts.licence = text_or(file, "general.license", "");
  count_weights(file, facts);
  try {
    const engine::ModelConfig config = engine::read_config(file);
    facts.layers = config.layers;
    facts.width = config.width;
    facts.heads = config.heads;
    facts.kv_heads = config.kv_heads;
    facts.feed_forward = config.ffn;
    facts.vocabulary = config.vocabulary;
    facts.context = config.context;
    engine::check_tensors(file, config);
    const engine::Tokenizer tokenizer(file);
    facts.split_rules = engine::printable(tokenizer.pre());
    const engine::Fim fim = engine::detect_fim(file, tokenizer);
    facts.fim_family = fim.family;
    facts.fim_order = order_name(fim.order);
    facts.fim_found_by = fim.found_by;
    for (const engine::TokenId id : fim.stops) {
      facts.stops.emplace_back(id, engine::printable(tokenizer.text(id)));
    }
  } catch (const engine::ModelError& error) {
    facts.problem = error.what();
  }
  return facts;
}

}  // namespace foretoken::lsp

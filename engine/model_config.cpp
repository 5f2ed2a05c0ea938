// Metadata to ModelConfig, every value checked: the file is untrusted.
#include <cmath>
#include <limits>

#include "engine/gguf.h"
#include "engine/model.h"

namespace foretoken::engine {
namespace {

// Wider than any published model by an order of magnitude, small enough that products of two fit
// in 64 bits with room to spare.
constexpr uint64_t kMaxLayers = 1024, kMaxWidth = 1 << 20, kMaxHeads = 4096, kMaxHeadDim = 1024,
                   kMaxVocabulary = 1 << 20, kMaxContext = 1 << 27;

class Reader {
 public:
  Reader(const GgufFile& file, std::string architecture)
      : file_(file), prefix_(std::move(architecture) + ".") {}

  int count(const char* key, uint64_t most, std::optional<uint64_t> fallback = {}) const {
    const std::string full = prefix_ + key;
    const std::optional<uint64_t> value = file_.integer(full);
    if (!value && !fallback) file_.fail("missing key " + full);
    const uint64_t v = value.value_or(fallback.value_or(0));
    if (v == 0 || v > most) {
      file_.fail(full + " is " + std::to_string(v) + ", outside 1.." + std::to_string(most));
    }
    return static_cast<int>(v);
  }

  double real(const char* key, std::optional<double> fallback = {}) const {
    const std::string full = prefix_ + key;
    const std::optional<double> value = file_.real(full);
    if (!value && !fallback) file_.fail("missing key " + full);
    const double v = value.value_or(fallback.value_or(0));
    if (!std::isfinite(v) || v <= 0) file_.fail(full + " must be a positive number");
    return v;
  }

  std::string key(const char* name) const { return prefix_ + name; }

 private:
  const GgufFile& file_;
  std::string prefix_;
};

RopeConfig read_rope(const GgufFile& file, const Reader& reader, int head_dim, int context) {
  RopeConfig rope;
  rope.dims = reader.count("rope.dimension_count", kMaxHeadDim, uint64_t(head_dim));
  if (rope.dims % 2 != 0 || rope.dims > head_dim) {
    file.fail(reader.key("rope.dimension_count") + " is " + std::to_string(rope.dims) +
              ", must be even and at most the head size " + std::to_string(head_dim));
  }
  rope.base = reader.real("rope.freq_base", 10000.0);

  const std::string type_key = reader.key("rope.scaling.type");
  const std::string type(file.string(type_key).value_or("linear"));
  double factor = file.real(reader.key("rope.scaling.factor"))
                      .value_or(file.real(reader.key("rope.scale_linear")).value_or(1.0));
  if (factor == 0) factor = 1;  // written by old converters for "none"
  if (!std::isfinite(factor) || factor < 0) {
    file.fail(reader.key("rope.scaling.factor") + " must be a positive number");
  }
  if (type == "linear") {
    if (factor != 1) rope.scaling = RopeConfig::Scaling::linear;
  } else if (type == "yarn") {
    rope.scaling = RopeConfig::Scaling::yarn;
    rope.original_context =
        reader.count("rope.scaling.original_context_length", kMaxContext, uint64_t(context));
    rope.attention_factor = reader.real("rope.scaling.attn_factor", 1.0);
  } else if (type != "none") {
    file.fail(type_key + " \"" + printable(type) + "\" is not supported; none, linear and yarn are");
  }
  rope.factor = factor;
  return rope;
}

}  // namespace

ModelConfig read_config(const GgufFile& file) {
  ModelConfig c;
  const auto architecture = file.string("general.architecture");
  if (!architecture) file.fail("missing key general.architecture");
  c.architecture = std::string(*architecture);
  if (c.architecture != "llama" && c.architecture != "qwen2") {
    file.fail("general.architecture \"" + printable(c.architecture) +
              "\" is not supported; llama and qwen2 are (see `foretoken model list`)");
  }
  if (file.integer("split.count").value_or(1) > 1) {
    file.fail("split.count: one part of a split model; join the parts to one file first");
  }
  c.name = std::string(file.string("general.name").value_or(""));

  const Reader reader(file, c.architecture);
  c.layers = reader.count("block_count", kMaxLayers);
  c.width = reader.count("embedding_length", kMaxWidth);
  c.heads = reader.count("attention.head_count", kMaxHeads);
  c.kv_heads = reader.count("attention.head_count_kv", kMaxHeads, uint64_t(c.heads));
  c.ffn = reader.count("feed_forward_length", kMaxWidth);
  c.context = reader.count("context_length", kMaxContext);
  c.norm_eps = static_cast<float>(reader.real("attention.layer_norm_rms_epsilon"));
  if (c.heads % c.kv_heads != 0) {
    file.fail(reader.key("attention.head_count_kv") + " is " + std::to_string(c.kv_heads) +
              ", no divisor of attention.head_count " + std::to_string(c.heads));
  }
  const auto key_length = file.integer(reader.key("attention.key_length"));
  if (!key_length && c.width % c.heads != 0) {
    file.fail(reader.key("attention.head_count") + " is " + std::to_string(c.heads) +
              ", no divisor of embedding_length " + std::to_string(c.width));
  }
  c.head_dim = reader.count("attention.key_length", kMaxHeadDim, uint64_t(c.width / c.heads));
  const int value_dim =
      reader.count("attention.value_length", kMaxHeadDim, uint64_t(c.head_dim));
  if (value_dim != c.head_dim || c.head_dim % 2 != 0) {
    file.fail(reader.key("attention.value_length") + " must equal key_length and be even");
  }
  c.attention_scale = static_cast<float>(
      reader.real("attention.scale", 1.0 / std::sqrt(double(c.head_dim))));
  if (file.integer(reader.key("expert_count")).value_or(0) > 0) {
    file.fail(reader.key("expert_count") + ": mixtures of experts are not supported");
  }
  c.rope = read_rope(file, reader, c.head_dim, c.context);
  c.rope_neox = c.architecture == "qwen2";

  const GgufTensor* embedding = file.tensor("token_embd.weight");
  if (!embedding) file.fail("missing tensor token_embd.weight");
  if (embedding->dim(1) == 0 || embedding->dim(1) > kMaxVocabulary) {
    file.fail("token_embd.weight has " + std::to_string(embedding->dim(1)) +
              " rows, outside 1.." + std::to_string(kMaxVocabulary));
  }
  c.vocabulary = static_cast<int>(embedding->dim(1));
  c.tied = file.tensor("output.weight") == nullptr;
  return c;
}

}  // namespace foretoken::engine

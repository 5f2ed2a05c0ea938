#include "tests/support/gguf_builder.h"

#include <algorithm>
#include <random>
#include <stdexcept>

namespace foretoken::test {

namespace {

std::string spell_byte(int byte) {  // in GPT-2's alphabet
  const auto itself = [](int b) {
    return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
  };
  int code = byte;
  if (!itself(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += itself(b) ? 0 : 1;
  }
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

}  // namespace

std::string raw_string(std::string_view text) {
  return raw<uint64_t>(text.size()) + std::string(text);
}

GgufBuilder& GgufBuilder::set(std::string_view key, uint32_t type, std::string payload) {
  const auto it = std::find_if(values.begin(), values.end(), [&](auto& v) { return v.key == key; });
  Value value{std::string(key), type, std::move(payload), {}};
  if (it != values.end()) {
    *it = std::move(value);
  } else {
    values.push_back(std::move(value));
  }
  return *this;
}

GgufBuilder& GgufBuilder::set_string(std::string_view key, std::string_view text) {
  return set(key, string, raw_string(text));
}
GgufBuilder& GgufBuilder::set_u32(std::string_view key, uint32_t value) {
  return set(key, u32, raw(value));
}
GgufBuilder& GgufBuilder::set_i32(std::string_view key, int32_t value) {
  return set(key, i32, raw(value));
}
GgufBuilder& GgufBuilder::set_f32(std::string_view key, float value) {
  return set(key, f32, raw(value));
}
GgufBuilder& GgufBuilder::set_bool(std::string_view key, bool value) {
  return set(key, boolean, std::string(1, value ? '\1' : '\0'));
}

GgufBuilder& GgufBuilder::set_array(std::string_view key, uint32_t element_type, uint64_t count,
                                    std::string_view elements) {
  return set(key, array, raw(element_type) + raw(count) + std::string(elements));
}

GgufBuilder& GgufBuilder::set_strings(std::string_view key, const std::vector<std::string>& texts) {
  std::string elements;
  for (const std::string& text : texts) elements += raw_string(text);
  return set_array(key, string, texts.size(), elements);
}

GgufBuilder& GgufBuilder::set_i32s(std::string_view key, const std::vector<int32_t>& numbers) {
  std::string elements;
  for (const int32_t n : numbers) elements += raw(n);
  return set_array(key, i32, numbers.size(), elements);
}

GgufBuilder& GgufBuilder::set_f32s(std::string_view key, const std::vector<float>& numbers) {
  std::string elements;
  for (const float n : numbers) elements += raw(n);
  return set_array(key, f32, numbers.size(), elements);
}

GgufBuilder& GgufBuilder::remove(std::string_view key) {
  std::erase_if(values, [&](const Value& v) { return v.key == key; });
  return *this;
}

GgufBuilder& GgufBuilder::add_tensor(std::string name, std::vector<uint64_t> dims, uint32_t type,
                                     std::string data) {
  tensors.push_back({std::move(name), std::move(dims), type, std::move(data), {}, {}, {}});
  return *this;
}

GgufBuilder::Tensor& GgufBuilder::tensor(std::string_view name) {
  for (Tensor& t : tensors) {
    if (t.name == name) return t;
  }
  throw std::out_of_range("no tensor " + std::string(name));
}

std::string GgufBuilder::header() const {
  std::string out = magic + raw(version) + raw<uint64_t>(tensor_count.value_or(tensors.size())) +
                    raw<uint64_t>(value_count.value_or(values.size()));
  for (const Value& v : values) {
    out += raw<uint64_t>(v.key_length.value_or(v.key.size())) + v.key + raw(v.type) + v.payload;
  }
  uint64_t offset = 0;
  for (const Tensor& t : tensors) {
    out += raw<uint64_t>(t.name_length.value_or(t.name.size())) + t.name;
    out += raw<uint32_t>(t.dim_count.value_or(static_cast<uint32_t>(t.dims.size())));
    for (const uint64_t dim : t.dims) out += raw(dim);
    out += raw(t.type) + raw<uint64_t>(t.offset.value_or(offset));
    offset += (t.data.size() + alignment - 1) / alignment * alignment;
  }
  return out;
}

std::string GgufBuilder::bytes() const {
  std::string out = header();
  const auto pad = [&] { out.resize((out.size() + alignment - 1) / alignment * alignment); };
  for (size_t i = 0; i < tensors.size(); ++i) {
    pad();
    out += tensors[i].data;
    if (i + 1 == tensors.size() && pad_last_tensor) pad();
  }
  return out;
}

std::string random_floats(size_t count, float scale, uint32_t seed) {
  std::mt19937 random(seed);
  std::string out;
  out.reserve(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    out += raw((static_cast<float>(random() >> 8) / float(1 << 23) - 1.0f) * scale);
  }
  return out;
}

const std::vector<std::string>& byte_vocabulary_merges() {
  static const std::vector<std::string> kMerges = {
      "r e",  "t u", "re tu", "r n",   "retu rn", "d e", "de f",  "i n", "in t", "f o",
      "fo r", "i f", "e l",   "el se", "s e",     "Ġ Ġ", "ĠĠ ĠĠ", "a b", "ab c", "Ġ ="};
  return kMerges;
}

const std::vector<std::string>& byte_vocabulary_tokens() {
  static const std::vector<std::string> kTokens = [] {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.push_back(spell_byte(byte));
    for (const std::string& merge : byte_vocabulary_merges()) {
      const size_t space = merge.find(' ');
      tokens.push_back(merge.substr(0, space) + merge.substr(space + 1));
    }
    for (const char* text : {"<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
                             "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"}) {
      tokens.push_back(text);
    }
    for (int i = 0; i < 5; ++i) tokens.push_back("[PAD" + std::to_string(i) + "]");
    return tokens;
  }();
  return kTokens;
}

void add_byte_vocabulary(GgufBuilder& builder, std::string_view pre) {
  const std::vector<std::string>& tokens = byte_vocabulary_tokens();
  std::vector<int32_t> types(tokens.size(), 1);
  std::fill(types.begin() + kByteVocabularyControl, types.begin() + kByteVocabularyPadding, 3);
  std::fill(types.begin() + kByteVocabularyPadding, types.end(), 5);
  builder.set_string("tokenizer.ggml.model", "gpt2")
      .set_string("tokenizer.ggml.pre", pre)
      .set_strings("tokenizer.ggml.tokens", tokens)
      .set_i32s("tokenizer.ggml.token_type", types)
      .set_strings("tokenizer.ggml.merges", byte_vocabulary_merges())
      .set_u32("tokenizer.ggml.eos_token_id", kByteVocabularyControl)
      .set_u32("tokenizer.ggml.bos_token_id", kByteVocabularyControl)
      .set_bool("tokenizer.ggml.add_bos_token", false);
}

GgufBuilder tiny_llama() {
  constexpr uint64_t kWidth = 32, kHeads = 2, kHeadDim = 16, kFeedForward = 48;
  const uint64_t rows = byte_vocabulary_tokens().size();
  GgufBuilder b;
  b.set_string("general.architecture", "llama")
      .set_string("general.name", "tiny test model")
      .set_u32("llama.context_length", 256)
      .set_u32("llama.embedding_length", kWidth)
      .set_u32("llama.block_count", 1)
      .set_u32("llama.feed_forward_length", kFeedForward)
      .set_u32("llama.attention.head_count", kHeads)
      .set_u32("llama.attention.head_count_kv", 1)
      .set_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .set_f32("llama.rope.freq_base", 10000.0f);
  add_byte_vocabulary(b);
  uint32_t seed = 1;
  const auto matrix = [&](const char* name, uint64_t in, uint64_t out) {
    b.add_tensor(name, {in, out}, 0, random_floats(in * out, 0.3f, seed++));
  };
  const auto ones = [&](const char* name) {
    std::string data;
    for (uint64_t i = 0; i < kWidth; ++i) data += raw(1.0f);
    b.add_tensor(name, {kWidth}, 0, data);
  };
  matrix("token_embd.weight", kWidth, rows);
  ones("blk.0.attn_norm.weight");
  matrix("blk.0.attn_q.weight", kWidth, kHeads * kHeadDim);
  matrix("blk.0.attn_k.weight", kWidth, kHeadDim);
  matrix("blk.0.attn_v.weight", kWidth, kHeadDim);
  matrix("blk.0.attn_output.weight", kHeads * kHeadDim, kWidth);
  ones("blk.0.ffn_norm.weight");
  matrix("blk.0.ffn_gate.weight", kWidth, kFeedForward);
  matrix("blk.0.ffn_up.weight", kWidth, kFeedForward);
  matrix("blk.0.ffn_down.weight", kFeedForward, kWidth);
  ones("output_norm.weight");
  return b;
}

}  // namespace foretoken::test

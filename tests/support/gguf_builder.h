// Writes GGUF files in memory, valid ones and spoilt ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::test {

/// The bytes of `value` as they lie in a file.
template <typename T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::string raw_string(std::string_view text);  // u64 length + bytes

/// Every public field may be set to nonsense: bytes() writes what it is told.
class GgufBuilder {
 public:
  enum Type : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

  struct Value {
    std::string key;
    uint32_t type;
    std::string payload;
    std::optional<uint64_t> key_length;  // other than key.size()
  };
  struct Tensor {
    std::string name;
    std::vector<uint64_t> dims;
    uint32_t type;
    std::string data;
    std::optional<uint64_t> name_length;  // other than name.size()
    std::optional<uint32_t> dim_count;    // other than dims.size()
    std::optional<uint64_t> offset;       // other than where the data lie
  };

  // Each replaces a value of the same key, in its place.
  GgufBuilder& set(std::string_view key, uint32_t type, std::string payload);
  GgufBuilder& set_string(std::string_view key, std::string_view text);
  GgufBuilder& set_u32(std::string_view key, uint32_t value);
  GgufBuilder& set_i32(std::string_view key, int32_t value);
  GgufBuilder& set_f32(std::string_view key, float value);
  GgufBuilder& set_bool(std::string_view key, bool value);
  GgufBuilder& set_strings(std::string_view key, const std::vector<std::string>& texts);
  GgufBuilder& set_i32s(std::string_view key, const std::vector<int32_t>& values);
  GgufBuilder& set_f32s(std::string_view key, const std::vector<float>& values);
  GgufBuilder& set_array(std::string_view key, uint32_t element_type, uint64_t count,
                         std::string_view elements);
  GgufBuilder& remove(std::string_view key);

  GgufBuilder& add_tensor(std::string name, std::vector<uint64_t> dims, uint32_t type,
                          std::string data);
  Tensor& tensor(std::string_view name);  // must exist

  std::string bytes() const;   // the whole file
  std::string header() const;  // up to and including the last tensor's place

  std::string magic = "GGUF";
  uint32_t version = 3;
  std::optional<uint64_t> tensor_count, value_count;  // other than what is there
  uint64_t alignment = 32;                            // that is written with; the key is set apart
  bool pad_last_tensor = true;
  std::vector<Value> values;
  std::vector<Tensor> tensors;
};

/// `count` floats from -scale to scale, the same for the same seed.
std::string random_floats(size_t count, float scale, uint32_t seed);

/// The tokenizer keys of a byte vocabulary: 256 single bytes, the results of some merges, Qwen's
/// FIM tokens, five padding rows; 288 tokens. Split rules `pre`.
void add_byte_vocabulary(GgufBuilder& builder, std::string_view pre = "qwen2");
const std::vector<std::string>& byte_vocabulary_tokens();  // as the file spells them
const std::vector<std::string>& byte_vocabulary_merges();
inline constexpr int kByteVocabularyMerged = 256;   // the first id that is more than a byte
inline constexpr int kByteVocabularyControl = 276;  // <|endoftext|>, then the FIM tokens
inline constexpr int kByteVocabularyPadding = 283;

/// A whole model of 70 KB that loads: architecture llama, one layer, width 32, F32.
GgufBuilder tiny_llama();

}  // namespace foretoken::test

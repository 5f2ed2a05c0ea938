// The header of a GGUF file: key-values and tensor places, read and checked.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/gguf.h"
#include "engine/gguf_stream.h"

namespace foretoken::engine {

enum GgufType : uint32_t {  // of values
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
  kTypes
};
std::string_view gguf_value_type_name(uint32_t type);

/// "an integer", "an array", …: for messages.
std::string_view held_type(const GgufValue& value);

/// Immutable once read; its views point into what the stream keeps.
class GgufHeader {
 public:
  explicit GgufHeader(GgufStream& stream);  // reads it

  uint32_t version() const { return version_; }
  const std::vector<std::pair<std::string_view, GgufValue>>& values() const { return values_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufValue* value(std::string_view key) const;     // null: absent
  const GgufTensor* tensor(std::string_view name) const;  // null: absent

 private:
  void read_values(uint64_t count);
  GgufValue read_value(uint32_t type);
  GgufArray read_array();
  void check_alignment(uint32_t type);
  void read_tensors(uint64_t count);
  GgufTensor read_tensor(uint64_t expected_offset);
  uint64_t tensor_bytes(const GgufTensor& tensor, uint32_t type_id);
  void place_tensors();

  GgufStream& stream_;
  uint32_t version_ = 0;
  uint64_t alignment_ = 32;
  std::vector<std::pair<std::string_view, GgufValue>> values_;  // in file order
  std::vector<uint32_t> by_key_;
  std::vector<GgufTensor> tensors_;  // in file order
  std::vector<uint32_t> by_name_;
};

}  // namespace foretoken::engine

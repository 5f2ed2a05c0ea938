// Reads GGUF files (v2, v3), an untrusted format: every size is checked against the file before
// memory is taken, every fault is one ModelError that names file, field and byte offset.
// Spec: ggml-org/ggml docs/gguf.md. Tensor data is read with pread on request, never mapped: a file
// that shrinks or changes later gives an error, not a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/error.h"
#include "kernels/tensor.h"

namespace foretoken::engine {

struct GgufLimits {  // what a file may claim
  static constexpr uint64_t kString = 16u << 20, kKey = 64u << 10, kKeyValues = 262144,
                            kTensors = 65536, kAlignment = 4096, kDims = 4, kNameBytes = 63;
};

/// An array value; the elements stay as they lie in the file, strings as views.
struct GgufArray {
  uint32_t type = 0;  // GGUF value type of the elements
  uint64_t count = 0;
  std::vector<std::string_view> strings;  // type 8
  std::span<const std::byte> raw;         // all other types: count * size bytes, little endian
};

using GgufValue = std::variant<uint64_t, int64_t, double, bool, std::string_view, GgufArray>;

struct GgufTensor {
  std::string_view name;
  kernels::DType type;
  std::vector<uint64_t> dims;  // ne[0] (contiguous, the input dimension) first; 1 to 4 of them
  uint64_t offset = 0;         // from the start of the file
  uint64_t bytes = 0;
  uint64_t dim(size_t i) const { return i < dims.size() ? dims[i] : 1; }
};

/// An open model file. Immutable after construction, thread-safe (reads use pread). Owns the header
/// bytes; all string_views point into it.
class GgufFile {
 public:
  /// Throws ModelError. Checks the whole header, tensor bounds included; reads no tensor data.
  /// A tensor of a type this program cannot compute with is an error here, naming the type.
  explicit GgufFile(const std::string& path);
  ~GgufFile();
  GgufFile(const GgufFile&) = delete;
  GgufFile& operator=(const GgufFile&) = delete;

  const std::string& path() const;
  uint64_t file_bytes() const;
  uint32_t version() const;

  const GgufValue* find(std::string_view key) const;  // null: absent
  /// Typed access: nullopt where the key is absent; ModelError naming the key where it has another
  /// type or does not fit. Integers of any width and sign are accepted for integers, f32/f64 for
  /// floats.
  std::optional<uint64_t> integer(std::string_view key) const;
  std::optional<double> real(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string_view> string(std::string_view key) const;
  const GgufArray* array(std::string_view key, uint32_t element_type) const;  // null: absent
  std::vector<std::string_view> keys() const;                                 // in file order

  std::span<const GgufTensor> tensors() const;
  const GgufTensor* tensor(std::string_view name) const;  // null: absent

  /// Reads `to.size()` bytes of tensor `t` from byte `from`. Throws ModelError when the file is
  /// shorter than it was or was changed (size or modification time) since it was opened.
  void read(const GgufTensor& t, uint64_t from, std::span<std::byte> to) const;

  /// ModelError with this file's name, `what` and a remedy in front of nothing else.
  [[noreturn]] void fail(std::string_view what) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace foretoken::engine

// Element types and the plain views that operations take. No arithmetic here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace foretoken::kernels {

/// Element types, numbered as GGUF numbers them (ggml.h, enum ggml_type).
enum class DType : uint32_t {
  f32 = 0, f16 = 1, q4_0 = 2, q4_1 = 3, q5_0 = 6, q5_1 = 7, q8_0 = 8,
  q4_k = 12, q5_k = 13, q6_k = 14, bf16 = 30,
};

/// Memory of one backend. Opaque: only that backend's operations may read or write it; the host
/// moves data with Stream::upload and Stream::download. Owned by whoever called Backend::allocate.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual size_t bytes() const = 0;
};

/// A float32 matrix inside a buffer: `rows` rows of `cols` floats, row r begins at float
/// `offset + r * stride`. A view: it owns nothing and must not outlive `buffer`.
struct Matrix {
  Buffer* buffer = nullptr;
  size_t offset = 0;  // in floats
  int rows = 0;
  int cols = 0;
  int stride = 0;  // in floats, >= cols

  Matrix row(int r) const { return slice(r, 1); }
  Matrix slice(int first_row, int count) const {
    return {buffer, offset + size_t(first_row) * size_t(stride), count, cols, stride};
  }
  Matrix columns(int first, int count) const {
    return {buffer, offset + size_t(first), rows, count, stride};
  }
};

}  // namespace foretoken::kernels

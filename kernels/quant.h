// Block formats of weights: sizes, names, and exact dequantisation to float (the definition every
// kernel is judged by). Source: ggml-common.h and ggml-quants.c of ggml-org/ggml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kernels/tensor.h"

namespace foretoken::kernels {

struct DTypeInfo {
  DType type;
  std::string_view name;  // as GGUF tools spell it: "Q4_K"
  int block;              // elements per block
  int bytes;              // bytes per block
};

/// Null where this program cannot compute with the type (`ggml_id` is untrusted).
const DTypeInfo* dtype_info(uint32_t ggml_id);
inline const DTypeInfo* dtype_info(DType t) {
  return dtype_info(static_cast<uint32_t>(t));
}

/// Every type dtype_info knows.
std::span<const DTypeInfo> dtypes();

/// The name of any type GGUF defines, for error messages; empty for ids it does not define.
/// `block` and `bytes` (when not null) get the block geometry, 0 for removed types.
std::string_view gguf_type_name(uint32_t ggml_id, int* block = nullptr, int* bytes = nullptr);

/// Bytes of `elements` elements (a multiple of the block).
inline size_t row_bytes(DType t, size_t elements) {
  const DTypeInfo* info = dtype_info(t);
  return elements / size_t(info->block) * size_t(info->bytes);
}

/// out[i] = the float that element i of `blocks` stands for. out.size() is a multiple of the block.
void dequantize(DType type, std::span<const std::byte> blocks, std::span<float> out);

/// The 6-bit scale and minimum of group g (0..7) of a Q4_K or Q5_K block's 12 packed bytes.
struct ScaleMin {
  uint8_t scale;
  uint8_t min;
};
ScaleMin k_scale_min(const uint8_t* packed, int g);

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);  // to nearest, ties to even

}  // namespace foretoken::kernels

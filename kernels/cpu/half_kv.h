// Keys and values in halves: [page][layer][kv head] { K [head_dim][64], V [64][v_dim] }, so that a
// page is one stretch of memory, lanes of K are positions and lanes of V are dimensions.
#pragma once

#include "kernels/cpu/host_memory.h"
#include "kernels/ops.h"

namespace foretoken::kernels {

class HalfKv : public KvPool {
 public:
  explicit HalfKv(const KvShape& shape)
      : shape_(shape), memory_(allocate_host_memory(page_bytes(shape) * size_t(shape.pages))) {}

  static int v_dim(const KvShape& s) { return (s.head_dim + 15) / 16 * 16; }
  static size_t head_halves(const KvShape& s) {
    return size_t(kPageTokens) * size_t(s.head_dim + v_dim(s));
  }
  static size_t page_bytes(const KvShape& s) {
    return sizeof(uint16_t) * head_halves(s) * size_t(s.layers) * size_t(s.kv_heads);
  }

  size_t bytes_per_page() const override { return page_bytes(shape_); }
  const KvShape& shape() const { return shape_; }
  int v_dim() const { return v_dim(shape_); }

  uint16_t* at(int32_t page, int layer, int head) const {
    const size_t i =
        (size_t(page) * size_t(shape_.layers) + size_t(layer)) * size_t(shape_.kv_heads) +
        size_t(head);
    return reinterpret_cast<uint16_t*>(memory_.get()) + i * head_halves(shape_);
  }

 private:
  KvShape shape_;
  HostMemory memory_;
};

}  // namespace foretoken::kernels

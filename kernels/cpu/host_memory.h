// Memory of the CPU backends: plain buffers, and arenas of huge pages for weights.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

#include "kernels/tensor.h"

namespace foretoken::kernels {

/// Zeroed bytes, at least 64-byte aligned, and whoever frees them.
using HostMemory = std::shared_ptr<std::byte>;

/// How a backend gets memory; throws std::bad_alloc. Tests put guard pages here.
using HostAllocator = std::function<HostMemory(size_t bytes)>;

/// From the kernel, 2 MiB aligned and advised for huge pages from 1 MiB on. Pages that nobody
/// touches cost nothing.
HostMemory allocate_host_memory(size_t bytes);

/// A buffer whose floats the CPU backends address directly.
class HostBuffer : public Buffer {
 public:
  HostBuffer(HostMemory memory, size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  size_t bytes() const override { return bytes_; }
  float* data() const { return reinterpret_cast<float*>(memory_.get()); }

 private:
  HostMemory memory_;
  size_t bytes_;
};

/// First float of row r.
inline float* row_of(const Matrix& m, int r) {
  return static_cast<const HostBuffer*>(m.buffer)->data() + m.offset + size_t(r) * size_t(m.stride);
}

/// Packs many small blocks into few large regions, so that 2 MiB pages are not wasted on
/// kilobyte tensors. A region lives until its last block is gone. Thread-safe.
class HostArena {
 public:
  HostMemory allocate(size_t bytes);

 private:
  std::mutex mutex_;
  HostMemory region_;
  size_t used_ = 0;
  size_t size_ = 0;
};

}  // namespace foretoken::kernels

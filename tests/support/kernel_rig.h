// A backend with a stream and named matrices, for tests of operations. Every matrix lies inside a
// larger buffer with a stride above its columns, filled with a sentinel: intact() tells whether an
// operation wrote outside.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/quant.h"

namespace foretoken::kernels {

inline constexpr float kSentinel = -12345.75f;

/// Values that repeat with the seed.
inline std::vector<float> random_floats(size_t n, uint32_t seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> v(n);
  for (float& x : v) x = normal(random);
  return v;
}

/// Raw rows of a type: random quants, small finite scales.
inline std::vector<std::byte> random_rows(DType type, int in, int out, uint32_t seed) {
  std::mt19937 random(seed);
  const DTypeInfo& info = *dtype_info(type);
  std::vector<std::byte> rows(row_bytes(type, size_t(in)) * size_t(out));
  for (std::byte& b : rows) b = std::byte(random() & 255);
  std::uniform_real_distribution<float> scale(0.002f, 0.02f);
  const auto put_half = [&](std::byte* at, float v) {
    const uint16_t h = float_to_half(v);
    std::memcpy(at, &h, 2);
  };
  std::normal_distribution<float> normal(0, 0.05f);
  for (std::byte* b = rows.data(); b < rows.data() + rows.size(); b += info.bytes) {
    switch (type) {
      case DType::f32: {
        const float v = normal(random);
        std::memcpy(b, &v, 4);
        break;
      }
      case DType::f16:
        put_half(b, normal(random));
        break;
      case DType::bf16: {
        const float v = normal(random);
        std::memcpy(b, reinterpret_cast<const char*>(&v) + 2, 2);
        break;
      }
      case DType::q4_1:
      case DType::q5_1:
        put_half(b, scale(random));
        put_half(b + 2, -16 * scale(random));
        break;
      case DType::q4_k:
      case DType::q5_k:
        put_half(b, scale(random) / 32);
        put_half(b + 2, scale(random) / 4);
        break;
      case DType::q6_k:
        put_half(b + 208, scale(random) / 64);
        break;
      default:
        put_half(b, scale(random));
    }
  }
  return rows;
}

class Rig {
 public:
  explicit Rig(std::unique_ptr<Backend> backend)
      : backend_(std::move(backend)), stream_(backend_->make_stream()) {}

  Backend& backend() { return *backend_; }
  Stream* operator->() { return stream_.get(); }

  /// rows x cols with `values` (or zeros), stride cols + pad.
  Matrix matrix(int rows, int cols, const std::vector<float>& values = {}, int pad = 3) {
    const int stride = cols + pad;
    const size_t floats = size_t(rows) * size_t(stride) + 2 * kMargin;
    buffers_.push_back(backend_->allocate(floats * sizeof(float)));
    Buffer* buffer = buffers_.back().get();
    stream_->upload(std::vector<float>(floats, kSentinel),
                    {buffer, 0, 1, int(floats), int(floats)});
    const Matrix m{buffer, kMargin, rows, cols, stride};
    stream_->upload(values.empty() ? std::vector<float>(size_t(rows) * size_t(cols)) : values, m);
    return m;
  }

  std::vector<float> values(const Matrix& m) {
    std::vector<float> v(size_t(m.rows) * size_t(m.cols));
    stream_->download(m, v);
    stream_->synchronize();
    return v;
  }

  /// True where nothing around the matrix was written.
  bool intact(const Matrix& m) {
    const int floats = int(m.buffer->bytes() / sizeof(float));
    const std::vector<float> all = values({m.buffer, 0, 1, floats, floats});
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t at = i - kMargin, row = at / size_t(m.stride), col = at % size_t(m.stride);
      if (i >= kMargin && row < size_t(m.rows) && col < size_t(m.cols)) continue;
      if (all[i] != kSentinel) return false;
    }
    return true;
  }

  std::unique_ptr<Weight> weight(DType type, int in, int out, const std::vector<std::byte>& rows,
                                 WeightSource::Use use = WeightSource::Use::matmul) {
    const size_t row = row_bytes(type, size_t(in));
    return backend_->load_weight({type, in, out, use, [&](int first, std::span<std::byte> to) {
                                    std::memcpy(to.data(), rows.data() + size_t(first) * row,
                                                to.size());
                                  }});
  }

 private:
  static constexpr size_t kMargin = 32;
  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::unique_ptr<Stream> stream_;
};

/// Largest difference, relative to the root mean square of `expected`.
inline double error_of(const std::vector<float>& got, const std::vector<float>& expected) {
  double worst = 0, square = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double d = std::abs(double(got[i]) - double(expected[i]));
    if (!(d <= worst)) worst = d;
    square += double(expected[i]) * double(expected[i]);
  }
  return worst / std::max(1e-30, std::sqrt(square / double(expected.size())));
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace foretoken::kernels

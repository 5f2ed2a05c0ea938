#include "kernels/ops.h"

namespace foretoken::kernels {

void Stream::matmul_many(Matrix x, std::span<const Product> products) {
  for (const Product& p : products) matmul(x, *p.w, p.bias, /*accumulate=*/false, p.out);
}

}  // namespace foretoken::kernels

// A backend whose memory the host may not touch: `reference` over pages that are PROT_NONE except
// while an operation executes. Engine code that reads or writes tensor memory itself dies at the
// access instead of working by luck.
#pragma once

#include <memory>

#include "kernels/ops.h"

namespace foretoken::test {

std::unique_ptr<kernels::Backend> make_guarded_backend();

}  // namespace foretoken::test

#pragma once
#include <memory>
#include "kernels/ops.h"
namespace foretoken::test { std::unique_ptr<kernels::Backend> make_guarded_backend(); }

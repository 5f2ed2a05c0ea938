// What this process holds of the machine's memory, as the kernel counts it.
#pragma once

#include <cstdint>

namespace foretoken::lsp {

uint64_t resident_bytes();       // now; huge pages included
uint64_t peak_resident_bytes();  // the most so far

}  // namespace foretoken::lsp

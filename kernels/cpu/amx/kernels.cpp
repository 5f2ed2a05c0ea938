// Compiled with AVX-512 and AMX tile and int8; entered only where the processor has them and the
// kernel has granted the tile state. All but products of many rows is AVX-512's.
#include "kernels/cpu/amx/tile_matmul.h"
#include "kernels/cpu/amx/tiles.h"
#include "kernels/cpu/simd/vec_avx512.h"

namespace foretoken::kernels {
namespace {

void matmul(const PanelView& w, int panel, int panels, const Activations& a, int row, int rows,
            const Output& out, std::byte* scratch) {
  if (rows <= Avx512::kDirect) {
    return avx512_kernels().matmul(w, panel, panels, a, row, rows, out, scratch);
  }
  simd::tile_matmul<Avx512, AmxTiles>(w, panel, panels, a, row, rows, out, scratch);
}

CpuKernels make_table() {
  CpuKernels table = avx512_kernels();
  table.name = "amx";
  table.matmul = matmul;
  return table;
}

}  // namespace

const CpuKernels& amx_kernels() {
  static const CpuKernels kTable = make_table();
  return kTable;
}

}  // namespace foretoken::kernels

// The three products of a layer, for libraries that multiply row-major matrices.
//
// Thread rule: one thread.
#pragma once

#include "tools/bench/gemm_layers.h"

namespace weir::bench {

// sgemm(transpose_a, transpose_b, m, n, k, a, b, c): c = a b, of m x k and k x n once transposed.
template <typename Sgemm>
void RunProducts(const Sgemm& sgemm, GemmLayer* layer) {
  GemmLayer& o = *layer;
  sgemm(false, true, o.batch, o.outputs, o.inputs, o.x.data(), o.w.data(), o.y.data());
  sgemm(true, false, o.outputs, o.inputs, o.batch, o.y.data(), o.x.data(), o.dw.data());
  if (!o.first) {
    sgemm(false, false, o.batch, o.inputs, o.outputs, o.y.data(), o.w.data(), o.dx.data());
  }
}

}  // namespace weir::bench

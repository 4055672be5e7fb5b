// The linear layers of the paper's model with random operands, and what a training step does with
// them by a kernel table: what the section gemm times and verifies.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/kernels/kernel_table.h"
#include "common/tensor/aligned_buffer.h"
#include "tools/bench/dlrm_shape.h"

namespace weir::bench {

// Activations are features by samples, slice after slice of the batch.
struct GemmLayer {
  GemmLayer(const GemmShape& shape, int64_t batch_in);

  double flop() const {
    return 2.0 * static_cast<double>(batch * inputs * outputs) * (first ? 2 : 3);
  }

  int64_t inputs, outputs, batch;
  bool first;  // nobody needs the gradient of its input
  int64_t stride, slices;
  tensor::AlignedBuffer x, w, y, bias, bias_gradient, dx, dw;
};

std::vector<GemmLayer> GemmLayers(int64_t batch);
double TotalFlop(const std::vector<GemmLayer>& layers);

// In slices as the model has them, but layer by layer: a weight and its gradient stay in the caches
// that a step takes from them. y is made anew, and then stands for its own gradient.
void RunByTable(const kernels::KernelTable& table, GemmLayer* layer);

// After RunByTable: some elements of each result beside sums in 64 bits.
Status VerifyByPlainSums(const GemmLayer& layer);

// That the table, whose products are of bfloat16, gives what the 32-bit one does, up to rounding.
Status VerifyBf16(const kernels::KernelTable& table, int64_t batch);

}  // namespace weir::bench

// A bound on the L2 norm of what one push brings (UpdateRule.max_push_norm): who has a trainer's
// secret can push any numbers, and moves by each no more than this.
//
// Updates are scaled down to a norm as a defence in Sun, Kairouz, Suresh and McMahan, "Can You
// Really Backdoor Federated Learning?", 2019 ("Norm thresholding of updates"). There the update is
// what many steps have made of a client's whole model; here it is the gradient of one, and each
// piece and each row has a norm of its own, for a server has no more than its part of a push.
//
// Place in the life of a batch: push -> decode -> **bound** -> apply.
// Thread rule: pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "common/kernels/cpu_kernels.h"
#include "common/proto/config.pb.h"

namespace weir::server {

// By the update rule; 0: none.
struct NormBounds {
  explicit NormBounds(const v1::UpdateConfig& update)
      : piece(update.dense().max_push_norm()), row(update.rows().max_push_norm()) {}

  double piece = 0;
  double row = 0;
};

// Scales finite values down to the norm, to the rounding of a float, if theirs is larger. Whether
// it was. The sum of squares is of 64 bits in an order that no processor changes, so that a log
// replays to the bit.
inline bool BoundNorm(double max_norm, std::span<float> values) {
  if (max_norm <= 0) return false;
  float factor = 1;
  const kernels::VectorView view{values.data(), static_cast<int64_t>(values.size())};
  kernels::CpuKernels().clip_norm(max_norm, view, {}, &factor);
  const bool is_bounded = factor != 1;
  // So small a factor is a coarse one.
  if (factor < std::numeric_limits<float>::min()) {
    kernels::CpuKernels().clip_norm(max_norm, view, {}, &factor);
  }
  return is_bounded;
}

// Of each of the rows. How many were scaled down.
inline uint32_t BoundRowNorms(double max_norm, size_t dimension, std::span<float> rows) {
  if (max_norm <= 0) return 0;
  uint32_t bounded = 0;
  for (size_t first = 0; first < rows.size(); first += dimension) {
    bounded += BoundNorm(max_norm, rows.subspan(first, dimension)) ? 1 : 0;
  }
  return bounded;
}

}  // namespace weir::server

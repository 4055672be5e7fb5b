// How many elements of a layer a sparsity leaves to send: the same on every device.
//
// Thread rule: a pure function. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cstdint>

#include "common/base/on_device.h"

namespace weir::compress {

// N - floor(N * sparsity), at least 1, with N * sparsity taken as the decimal that the user wrote
// and not as its nearest binary neighbour (0.29 * 100 is 29). sparsity: from 0.
WEIR_ON_DEVICE inline int64_t KeptCount(int64_t element_count, double sparsity) {
  const double dropped = static_cast<double>(element_count) * sparsity + 1e-9;
  const int64_t kept = element_count - static_cast<int64_t>(dropped);  // rounded down
  return kept < 1 ? 1 : kept;
}

}  // namespace weir::compress

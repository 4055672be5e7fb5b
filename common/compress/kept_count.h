// How many elements of a layer a sparsity leaves to send.
//
// Thread rule: a pure function.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace weir::compress {

// N - floor(N * sparsity), at least 1, with N * sparsity taken as the decimal that the user wrote
// and not as its nearest binary neighbour (0.29 * 100 is 29).
inline int64_t KeptCount(int64_t element_count, double sparsity) {
  const double dropped = std::floor(static_cast<double>(element_count) * sparsity + 1e-9);
  return std::max<int64_t>(1, element_count - static_cast<int64_t>(dropped));
}

}  // namespace weir::compress

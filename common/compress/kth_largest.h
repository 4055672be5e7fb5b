// The k-th largest of many magnitudes, for thresholds: exact, and in a fraction of the time of a
// general selection, because the bits of positive floats are ordered as they are.
//
// Place in the life of a batch: residual += gradient -> **threshold** -> select.
// Thread rule: thread-compatible; nothing but its argument is touched.
#pragma once

#include <cstddef>
#include <span>

namespace weir::compress {

// magnitudes: no NaN, no sign bit (as std::fabs leaves them); overwritten. 1 <= k <= their number.
float KthLargest(std::span<float> magnitudes, size_t k);

}  // namespace weir::compress

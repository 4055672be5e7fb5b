// A threshold by its rank among magnitudes: that of the k-th largest. Here as the host takes it;
// cards have the same (gpu/kernels/layers_rank.cu).
//
// Place in the life of a batch: backward -> **threshold** -> residual += gradient -> select.
// Thread rule: thread-compatible; nothing but its argument is touched.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace weir::compress {

// Which of the magnitudes that are not zero: the k-th largest, or the least of them where they are
// fewer.
struct RankAsk {
  int64_t rank = 0;     // k; 0: what the sparsity leaves of what is a number, zeros among it,
  double sparsity = 0;  // KeptCount's,
  int64_t more = 0;     // and so many more
  bool sorts = false;   // on the host; the same is found
};

// None where there is nothing but zeros and NaN. magnitudes: as std::fabs leaves them; overwritten.
std::optional<float> RankedOf(std::span<float> magnitudes, const RankAsk& ask);

}  // namespace weir::compress

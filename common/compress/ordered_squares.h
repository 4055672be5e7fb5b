// Sums of squares in an order of their own, the same on every processor and on cards, to the bit:
// so trainers that have the same gradients deal out the same counts (deft.cc).
//
// Values are in buckets of 512, from the first on. Value i of a bucket is in lane i % 32; a lane's
// squares are added as they come, and then the lanes in halves: the upper 16 to the lower 16, of
// these the upper 8, and so on. That is how a warp of a card has it (sum_buckets of
// common/kernels/select_table.h). The square of a float is exact in a double, so it is one whether
// or not it is rounded before it is added.
//
// Place in the life of a batch: residual += gradient -> **norms** -> propose.
// Thread rule: pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::compress {

inline constexpr uint32_t kOrderedBucketLog2 = 9;
inline constexpr int64_t kOrderedBucket = int64_t{1} << kOrderedBucketLog2;

// sum, and to it each bucket's, one after the other.
double AddOrderedSquares(double sum, std::span<const float> values);

}  // namespace weir::compress

// What quantisers of whole layers need to know of a few elements before they choose a scale.
//
// Thread rule: pure function.
#pragma once

#include <cstdint>
#include <span>

#include "common/kernels/select_plans.h"

namespace weir::compress {

using kernels::BucketSums;

// Of both together.
BucketSums operator+(const BucketSums& a, const BucketSums& b);

// At most kStripeElements.
BucketSums SumBucket(std::span<const float> values);

}  // namespace weir::compress

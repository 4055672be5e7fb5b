// What quantisers of whole layers need to know of a few elements before they choose a scale.
//
// Thread rule: pure function.
#pragma once

#include <cstdint>
#include <span>

namespace weir::compress {

struct BucketSums {
  double sum = 0;
  double square_sum = 0;
  float largest = 0;  // magnitude
  // Of the elements below zero.
  double minus_sum = 0;
  int64_t minus_count = 0;

  BucketSums& operator+=(const BucketSums& other);
};

// At most kStripeElements. What is no number makes a sum that is none; largest leaves it out.
BucketSums SumBucket(std::span<const float> values);

}  // namespace weir::compress

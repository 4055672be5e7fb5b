// What a distribution is fitted to: sums over magnitudes of gradient + residual.
//
// Every instruction set adds in another order, so the last bits of the sums depend on the machine.
//
// Place in the life of a batch: backward -> **threshold** -> residual += gradient -> select.
// Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace weir::compress {

// Of magnitudes above some bound.
struct Moments {
  int64_t count = 0;
  double sum = 0;
  double square_sum = 0;
  float least = std::numeric_limits<float>::infinity();
  float largest = 0;

  void Add(const Moments& other) {
    count += other.count;
    sum += other.sum;
    square_sum += other.square_sum;
    least = std::min(least, other.least);
    largest = std::max(largest, other.largest);
  }
};

// Of the elements with |value| > bound, which is not negative. NaN is none of them. At most
// kStripeElements, here and below: sums of floats are exact enough over so many.
Moments MomentsAbove(std::span<const float> values, float bound);

// Sum of ln |value| over the elements that are not zero or NaN.
double LogSum(std::span<const float> values);

}  // namespace weir::compress

// The inner loop of policies that ask for the variance of a gradient (Tsuzuku et al. 2018, section
// 4): accumulate, compare with the sum of squares, name what passes. One pass, and then what passes
// alone.
//
// Every instruction set's form gives the same bits (tests/common/compress/variance_select_test.cc).
//
// Place in the life of a batch: residual += gradient -> **select**.
// Thread rule: pure functions; the caller holds the stripe. Square sums may be added to meanwhile
// (square_sums.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "common/base/hogwild.h"
#include "common/compress/policy.h"

namespace weir::compress {

struct VarianceTest {
  float alpha;          // passes: residual^2 > alpha * square sum ...
  float threshold = 0;  // ... and |residual| > threshold, 0 for any that is not zero
};

// Of one element.
WEIR_HOGWILD inline bool Passes(const VarianceTest& test, float residual, const float& square_sum) {
  return residual * residual > test.alpha * square_sum && std::fabs(residual) > test.threshold;
}

// residual += gradient. Writes the offsets of what passes, ascending, to indexes, and returns how
// many they are. NaN does not pass, nor does an element whose square underflows or whose square sum
// is infinite. indexes: kStripeElements of them, however short the stripe is.
size_t AccumulateAndTest(std::span<const float> gradient, const VarianceTest& test,
                         std::span<float> residual, std::span<const float> square_sums,
                         uint16_t* indexes);

// The same, but each element that passes gives a quantum of the threshold's size and its sign, and
// its square sum v becomes v - 2 |r| t + t^2, not below zero, where r is the residual before the
// quantum left it, or after. Infinity gives a quantum once, and NaN stays.
void AccumulateAndTakeQuanta(std::span<const float> gradient, const VarianceTest& test,
                             bool corrects_after, std::span<float> residual,
                             std::span<float> square_sums, StripeSelection* selection);

}  // namespace weir::compress

// The inner loop of policies that ask for the variance of a gradient (Tsuzuku et al. 2018, section
// 4): accumulate gradient and squares, compare, name what passes, decay the rest. One pass, and
// then what passes alone.
//
// Every instruction set's form gives the same bits (tests/common/compress/variance_select_test.cc).
//
// Place in the life of a batch: residual += gradient -> **select**.
// Thread rule: pure functions; the caller holds the stripe.
#pragma once

#include <cstdint>
#include <span>

#include "common/compress/policy.h"

namespace weir::compress {

struct VarianceTest {
  float alpha;          // passes: residual^2 > alpha * square sum ...
  float threshold = 0;  // ... and |residual| > threshold, 0 for any that is not zero
  float decay;          // of the square sums that do not pass
};

// residual += gradient.values, square_sums += gradient.squares. Writes the offsets of what passes,
// ascending, to indexes, and returns how many they are; the other square sums are multiplied by the
// decay. NaN does not pass, nor does an element whose square underflows or whose square sum is
// infinite. indexes: kStripeElements of them, however short the stripe is.
size_t AccumulateAndTest(const Gradient& gradient, const VarianceTest& test,
                         std::span<float> residual, std::span<float> square_sums,
                         uint16_t* indexes);

// The same, but each element that passes gives a quantum of the threshold's size and its sign, and
// its square sum v becomes v - 2 |r| t + t^2, not below zero, where r is the residual before the
// quantum left it, or after. All square sums decay. Infinity gives a quantum once, and NaN stays.
void AccumulateAndTakeQuanta(const Gradient& gradient, const VarianceTest& test,
                             bool corrects_after, std::span<float> residual,
                             std::span<float> square_sums, StripeSelection* selection);

// The first of a step in which nothing may be sent.
void AccumulateAndDecay(const Gradient& gradient, float decay, std::span<float> residual,
                        std::span<float> square_sums);

}  // namespace weir::compress

// The inner loops of threshold policies on one stripe: accumulate, compare, compact, store.
//
// Every instruction set's form gives the same bits (tests/common/compress/stripe_select_test.cc);
// Highway picks the machine's at the first call.
//
// Place in the life of a batch: residual += gradient -> **select**.
// Thread rule: pure functions; the caller holds the stripe.
#pragma once

#include <cstdint>
#include <span>

#include "common/compress/policy.h"

namespace weir::compress {

// residual += gradient; elements with |residual| >= threshold that are not zero are selected, their
// values rounded to the coding, and the rounding stays in the residual. NaN is selected, and stays;
// what rounds to 0 is not. At most kStripeElements, at any alignment. threshold: a number.
void AccumulateAndSelect(std::span<const float> gradient, float threshold, wire::ValueCoding values,
                         std::span<float> residual, StripeSelection* selection);

// residual += gradient; each element with |residual| > quantum, which is above zero, gives one
// quantum of its sign, and the rest of it stays. The values are +quantum or -quantum. NaN is not
// selected; of infinity a quantum is sent once, and NaN stays. Otherwise as above.
void AccumulateAndQuantize(std::span<const float> gradient, float quantum,
                           std::span<float> residual, StripeSelection* selection);

// residual += gradient.
void AccumulateStripe(std::span<const float> gradient, std::span<float> residual);

}  // namespace weir::compress

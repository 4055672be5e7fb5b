// Stochastic rounding to whole multiples of a scale: up or down by chance, so that the mean is the
// value. What QSGD and TernGrad have in common.
//
// Every instruction set's form gives the same bits
// (tests/common/compress/stochastic_levels_test.cc). Thread rule: pure function.
#pragma once

#include <cstdint>
#include <span>

#include "common/compress/policy.h"

namespace weir::compress {

struct Levels {
  float scale;    // of level 1; 0: everything is level 0
  uint32_t most;  // no value has a higher level: it is clipped
};

// Appends the elements whose level is not 0 to the selection: their offsets, counted from `first`,
// and values, plus or minus scale x level. chance: key of the random choices, which are 24 bits
// each. NaN is level 0. At most a stripe.
void AppendLevels(std::span<const float> values, const Levels& levels, uint64_t chance,
                  uint32_t first, StripeSelection* selection);

// As a scale, or 0 where it is no number, or so small that its inverse is none.
float SoundScale(double scale);

}  // namespace weir::compress

// A threshold that is kept where it realises a wanted density: what a new quantile makes of it, and
// how much a step sent. The same on every device, to the bit: the exponential is our own, and each
// sum with a product in it is an fma, so that no compiler may round it otherwise than another.
// common/compress/density_controller.h says what it is for.
//
// Place in the life of a batch: residual += gradient -> select -> **correct the threshold**.
// Thread rule: values. C++17-clean, so that a CUDA compiler can include it.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "common/base/on_device.h"

namespace weir::kernels {

// e^x of |x| up to 1/2, in its last place: 1 + x (1 + x/2 (1 + x/3 (...))), as far as that tells.
WEIR_ON_DEVICE inline double ExpOfSmall(double x) {
  double sum = 1;
  for (int k = 15; k > 0; --k) sum = std::fma(x / k, sum, 1.0);
  return sum;
}

struct ControlledThreshold {
  double threshold = 0;  // 0: there is none
  double least = 0;      // that corrections may make it

  // quantile: 0: there is none.
  WEIR_ON_DEVICE void Recompute(float quantile) {
    // Where corrections end, so that none makes the threshold 0.
    constexpr double kLeast = FLT_TRUE_MIN;
    // And how far below the quantile: a layer without gradients, whose ReLUs are all cut, sends
    // nothing however low the threshold is, and would send everything for long when it has some
    // again.
    constexpr double kFurthestBelow = 1024;
    threshold = static_cast<double>(quantile);
    if (quantile == 0.0f) return;
    const double furthest = threshold / kFurthestBelow;
    least = furthest > kLeast ? furthest : kLeast;
  }

  // A step under the threshold has sent so many elements. target_count: 0: nothing is corrected.
  WEIR_ON_DEVICE void Correct(int64_t sent_count, double target_count) {
    constexpr double kGain = 0.1;
    constexpr double kMostTargets = 6;  // that one step's count enters as
    if (target_count == 0.0 || threshold == 0.0) return;
    const double targets = static_cast<double>(sent_count) / target_count;
    const double surplus = (targets < kMostTargets ? targets : kMostTargets) - 1.0;
    const double corrected = threshold * ExpOfSmall(kGain * surplus);
    threshold = corrected > least ? corrected : least;
  }
};

// A layer's, where a device keeps it from step to step (select_table.h).
struct LayerThreshold {
  ControlledThreshold controlled;
  double target_count = 0;  // given, as the stripes; 0: nothing is corrected
  uint32_t first_stripe = 0, stripe_end = 0;
};

}  // namespace weir::kernels

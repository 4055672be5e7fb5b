// A controlled threshold's arithmetic; what it does to a layer's density is tested with the
// controller (tests/common/compress/density_controller_test.cc).
#include "common/kernels/controlled_threshold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/base/random.h"

namespace weir::kernels {
namespace {

// In units of the last place, of all of which the exponent is 0 or -1.
double Error(double x) {
  const long double exact = std::exp(static_cast<long double>(x));
  const long double unit = exact < 1 ? 0x1p-53L : 0x1p-52L;
  return static_cast<double>(std::fabs((static_cast<long double>(ExpOfSmall(x)) - exact) / unit));
}

TEST(ControlledThreshold, ItsExponentialIsRightToTheLastPlace) {
  RandomStream random(1);
  double most = 0;
  for (int i = 0; i < 200'000; ++i) most = std::max(most, Error(random.NextUnit() - 0.5));
  EXPECT_LT(most, 1) << "units of the last place";
  EXPECT_EQ(ExpOfSmall(0), 1.0);
  for (const double x : {-0.5, -0.1, -0x1p-60, 0x1p-60, 0.1, 0.5}) EXPECT_LT(Error(x), 1) << x;
}

// Bits, so that a processor or compiler that rounds otherwise is found.
TEST(ControlledThreshold, ItsExponentialHasTheSameBitsEverywhere) {
  uint64_t hash = 0;
  for (int i = -500; i <= 500; ++i) {
    hash = Mix64(hash ^ std::bit_cast<uint64_t>(ExpOfSmall(i * 0x1.0624dd2f1a9fcp-10)));
  }
  EXPECT_EQ(hash, 12131728378266346270u);
}

// And of whole corrections, of counts around the target and far from it.
TEST(ControlledThreshold, ItsCorrectionsHaveTheSameBitsEverywhere) {
  RandomStream random(2);
  uint64_t hash = 0;
  ControlledThreshold controlled;
  for (int step = 0; step < 1000; ++step) {
    if (step % 100 == 0) controlled.Recompute(static_cast<float>(1 + random.NextUnit()));
    controlled.Correct(static_cast<int64_t>(random.NextBelow(step % 7 == 0 ? 1000 : 20)), 9.5);
    hash = Mix64(hash ^ std::bit_cast<uint64_t>(controlled.threshold));
  }
  EXPECT_EQ(hash, 14986320212076714176u);
}

TEST(ControlledThreshold, MovesByTheExponentialOfTheSurplus) {
  ControlledThreshold controlled;
  controlled.Recompute(2);
  controlled.Correct(25, 10);
  EXPECT_DOUBLE_EQ(controlled.threshold, 2 * std::exp(0.15));
  controlled.Recompute(2);
  controlled.Correct(0, 10);
  EXPECT_DOUBLE_EQ(controlled.threshold, 2 * std::exp(-0.1));
  controlled.Recompute(2);
  controlled.Correct(std::numeric_limits<int64_t>::max(), 10);
  EXPECT_DOUBLE_EQ(controlled.threshold, 2 * std::exp(0.5));
}

TEST(ControlledThreshold, StaysAboveZeroBelowTheSmallestQuantile) {
  constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
  ControlledThreshold controlled;
  controlled.Recompute(kSmallest);
  for (int step = 0; step < 1000; ++step) controlled.Correct(0, 10);
  EXPECT_EQ(controlled.threshold, static_cast<double>(kSmallest));
}

TEST(ControlledThreshold, IsNotCorrectedWithoutATargetOrWhereThereIsNone) {
  ControlledThreshold controlled;
  controlled.Correct(5, 10);
  EXPECT_EQ(controlled.threshold, 0);
  controlled.Recompute(3);
  controlled.Correct(5, 0);
  EXPECT_EQ(controlled.threshold, 3);
  EXPECT_EQ(controlled.least, 3.0 / 1024);
  controlled.Recompute(0);
  EXPECT_EQ(controlled.threshold, 0);
  EXPECT_EQ(controlled.least, 3.0 / 1024);
}

}  // namespace
}  // namespace weir::kernels

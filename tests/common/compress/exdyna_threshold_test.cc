#include "common/compress/exdyna_threshold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/base/random.h"

namespace weir::compress {
namespace {

TEST(ExDynaThreshold, BeginsByTheTarget) {
  EXPECT_DOUBLE_EQ(FirstExDynaThreshold(1), 0.5);
  EXPECT_DOUBLE_EQ(FirstExDynaThreshold(10'000), 0.005);
}

TEST(ExDynaThreshold, MovesByWhatWasSentOfTheTarget) {
  for (const auto band : {ExDynaBand::kSymmetric, ExDynaBand::kUpward}) {
    EXPECT_EQ(NextExDynaThreshold(1, 1101, 1000, band), 1.005);
    EXPECT_EQ(NextExDynaThreshold(1, 1100, 1000, band), 1.00125);
    EXPECT_EQ(NextExDynaThreshold(1, 1001, 1000, band), 1.00125);
    EXPECT_EQ(NextExDynaThreshold(1, 909, 1000, band), 0.995);
    EXPECT_EQ(NextExDynaThreshold(1, 0, 1000, band), 0.995);
    EXPECT_EQ(NextExDynaThreshold(2, 1'000'000, 1, band), 2.01);
  }
  for (const int64_t sent : {1000, 910}) {
    EXPECT_EQ(NextExDynaThreshold(1, sent, 1000), 0.9987);
    EXPECT_EQ(NextExDynaThreshold(1, sent, 1000, ExDynaBand::kUpward), 1.00125);
  }
}

TEST(ExDynaThreshold, MovesByAPartOfTheExcessWhereItIsToFollow) {
  for (const auto band : {ExDynaBand::kSymmetric, ExDynaBand::kUpward}) {
    const auto next = [band](int64_t sent) {
      return NextExDynaThreshold(2, sent, 1000, band, ExDynaPace::kByRatio);
    };
    EXPECT_EQ(next(1000), 2);
    EXPECT_EQ(next(1500), 2 * (1 + 0.5 / 16));
    EXPECT_EQ(next(500), 2 * (1 - 0.5 / 16));
    EXPECT_EQ(next(4000), next(1'000'000));
  }
}

TEST(ExDynaThreshold, StaysAPositiveFloat) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  double low = 1, high = 1;
  for (int step = 0; step < 50'000; ++step) {
    low = NextExDynaThreshold(low, 0, 1000);
    high = NextExDynaThreshold(high, kMost, 1000);
  }
  EXPECT_EQ(static_cast<float>(low), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(static_cast<float>(high), std::numeric_limits<float>::max());
}

// Magnitudes whose tail is exponential. With a seed, counts scatter about their mean as those of
// Poisson do.
struct ExponentialTail {
  double scale;
  int64_t elements;
  std::optional<RandomStream> random;

  int64_t CountFrom(double threshold) {
    const double mean = static_cast<double>(elements) * std::exp(-threshold / scale);
    const double noise = random ? std::sqrt(mean) * random->NextNormal() : 0;
    return static_cast<int64_t>(std::max(0.0, std::round(mean + noise)));
  }
};

struct Settled {
  double mean = 0, least = 1e9, largest = 0;  // of the target
};

// From the right threshold on, without the first steps.
Settled SettledWith(ExponentialTail tail, int64_t target, ExDynaBand band) {
  constexpr int kSettling = 2000, kSteps = 40'000;
  double threshold =
      tail.scale * std::log(static_cast<double>(tail.elements) / static_cast<double>(target));
  Settled settled;
  for (int step = 0; step < kSettling + kSteps; ++step) {
    const int64_t sent = tail.CountFrom(threshold);
    threshold = NextExDynaThreshold(threshold, sent, target, band);
    if (step < kSettling) continue;
    const double ratio = static_cast<double>(sent) / static_cast<double>(target);
    settled.mean += ratio / kSteps;
    settled.least = std::min(settled.least, ratio);
    settled.largest = std::max(settled.largest, ratio);
  }
  return settled;
}

TEST(ExDynaThreshold, SettlesAtTheTargetWithASymmetricBand) {
  const ExponentialTail tail{.scale = 0.01, .elements = 1'000'000, .random = std::nullopt};
  const Settled settled = SettledWith(tail, 1000, ExDynaBand::kSymmetric);
  EXPECT_NEAR(settled.mean, 1.0, 0.005);
  EXPECT_GT(settled.least, 0.98);
  EXPECT_LT(settled.largest, 1.02);
}

TEST(ExDynaThreshold, SettlesAtTheEdgeOfTheBandAsWritten) {
  const ExponentialTail tail{.scale = 0.01, .elements = 1'000'000, .random = std::nullopt};
  const Settled settled = SettledWith(tail, 1000, ExDynaBand::kUpward);
  EXPECT_NEAR(settled.mean, 0.921, 0.003);
  EXPECT_NEAR(settled.least, 0.90, 0.005);
  EXPECT_NEAR(settled.largest, 0.94, 0.005);
}

// Counts that scatter by 7 % cross the edges of the band.
TEST(ExDynaThreshold, SettlesHigherAsWrittenWhereCountsAreSmall) {
  const ExponentialTail tail{.scale = 0.01, .elements = 200'000, .random = RandomStream(1)};
  EXPECT_NEAR(SettledWith(tail, 200, ExDynaBand::kUpward).mean, 0.966, 0.01);
  EXPECT_NEAR(SettledWith(tail, 200, ExDynaBand::kSymmetric).mean, 1.003, 0.005);
}

// Steps until 0.909 to 1.1 of the target are sent.
int StepsToTheBand(ExponentialTail tail, double threshold, int64_t target) {
  int steps = 0;
  for (; steps < 5000; ++steps) {
    const int64_t sent = tail.CountFrom(threshold);
    const double ratio = static_cast<double>(sent) / static_cast<double>(target);
    if (ratio > 0.909 && ratio <= 1.1) break;
    threshold = NextExDynaThreshold(threshold, sent, target);
  }
  return steps;
}

TEST(ExDynaThreshold, ComesFromAfarByHalfAPercentInAStep) {
  const ExponentialTail tail{.scale = 0.01, .elements = 1'000'000, .random = std::nullopt};
  const double right = 0.01 * std::log(1000.0);
  EXPECT_NEAR(StepsToTheBand(tail, 10 * right, 1000), std::log(10.0) / 0.005, 5);
  EXPECT_NEAR(StepsToTheBand(tail, right / 10, 1000), std::log(10.0) / 0.005, 5);
  const ExponentialTail small{.scale = 1e-5, .elements = 1'000'000, .random = std::nullopt};
  EXPECT_NEAR(StepsToTheBand(small, FirstExDynaThreshold(1000), 1000), 1080, 10);
}

TEST(ExDynaFallback, IsAnotherElementOfThePartitionInEveryStep) {
  const ExDynaRange partition{.begin = 100, .end = 103};
  std::vector<int64_t> elements;
  for (int64_t step = 7; step < 11; ++step) elements.push_back(*ExDynaFallback(step, partition));
  EXPECT_EQ(elements, (std::vector<int64_t>{101, 102, 100, 101}));
  EXPECT_EQ(ExDynaFallback(7, {.begin = 100, .end = 100}), std::nullopt);
}

}  // namespace
}  // namespace weir::compress

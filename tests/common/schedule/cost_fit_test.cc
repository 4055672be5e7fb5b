#include "common/schedule/cost_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/base/random.h"

namespace weir::schedule {
namespace {

double SquaresOf(const Line& line, const std::vector<Measurement>& measurements) {
  double squares = 0;
  for (const auto& [size, seconds] : measurements) {
    squares += std::pow(line.Seconds(size) - seconds, 2);
  }
  return squares;
}

void ExpectLine(const Line& line, double base, double each) {
  EXPECT_NEAR(line.base_seconds, base, 1e-12 * std::abs(base));
  EXPECT_NEAR(line.each_seconds, each, 1e-12 * std::abs(each));
}

TEST(FitLine, FindsTheLineThatMeasurementsLieOn) {
  std::vector<Measurement> measurements;
  for (const int64_t bytes : {1000, 20'000, 300'000, 1'000'000}) {
    measurements.push_back({bytes, 3e-5 + 8e-10 * static_cast<double>(bytes)});
  }
  ExpectLine(FitLine(measurements), 3e-5, 8e-10);
}

// Mean size 2, mean time 4; products of deviations 1 + 0 + 1, squares of sizes 1 + 0 + 1.
TEST(FitLine, HasTheLeastSquaresByHand) {
  ExpectLine(FitLine(std::vector<Measurement>{{1, 4}, {2, 2}, {3, 6}}), 2, 1);
}

TEST(FitLine, GoesThroughTheOriginRatherThanBelowIt) {
  ExpectLine(FitLine(std::vector<Measurement>{{1, 0}, {2, 1}, {3, 2}}), 0, 8.0 / 14);
}

TEST(FitLine, IsLevelWhereLargerOnesTookLessTime) {
  ExpectLine(FitLine(std::vector<Measurement>{{1, 3}, {2, 2}, {3, 1}}), 2, 0);
}

TEST(FitLine, IsTheMeanOfOneSizeAndNothingOfNone) {
  ExpectLine(FitLine({}), 0, 0);
  ExpectLine(FitLine(std::vector<Measurement>{{7, 3}}), 3, 0);
  ExpectLine(FitLine(std::vector<Measurement>{{7, 3}, {7, 5}}), 4, 0);
  ExpectLine(FitLine(std::vector<Measurement>{{0, 3}, {0, 5}}), 4, 0);
  for (int count = 1; count < 50; ++count) {  // the mean of a size may differ from it in a last bit
    ExpectLine(FitLine(std::vector<Measurement>(static_cast<size_t>(count), {1'000'003, 0.1})), 0.1,
               0);
  }
}

TEST(FitLine, ToleratesHugeSizes) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  ExpectLine(FitLine(std::vector<Measurement>{{0, 1}, {kMost, 2}}), 1,
             1 / static_cast<double>(kMost));
}

std::vector<Measurement> RandomMeasurements(uint64_t seed) {
  RandomStream random(seed);
  std::vector<Measurement> measurements(2 + random.NextBelow(5));
  for (Measurement& measurement : measurements) {
    measurement = {static_cast<int64_t>(random.NextBelow(8)), random.NextUnit()};
  }
  return measurements;
}

TEST(FitLine, HasNoBetterNeighbourWithoutANegativeConstant) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const std::vector<Measurement> measurements = RandomMeasurements(seed);
    const Line line = FitLine(measurements);
    ASSERT_GE(line.base_seconds, 0) << "seed " << seed;
    ASSERT_GE(line.each_seconds, 0) << "seed " << seed;
    const double least = SquaresOf(line, measurements);
    for (const double base_change : {-1e-3, 0.0, 1e-3}) {
      for (const double each_change : {-1e-3, 0.0, 1e-3}) {
        const Line other{std::max(0.0, line.base_seconds + base_change),
                         std::max(0.0, line.each_seconds + each_change)};
        EXPECT_GE(SquaresOf(other, measurements), least - 1e-12) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace weir::schedule

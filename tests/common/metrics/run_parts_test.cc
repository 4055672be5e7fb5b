#include "common/metrics/run_parts.h"

#include <gtest/gtest.h>

namespace weir::metrics {
namespace {

TEST(RunParts, AreNothingBeforeThereAreTwo) {
  RunParts<2> parts;
  EXPECT_EQ(parts.last()[0], 0);
  parts.Add({100, 5});
  EXPECT_EQ(parts.first()[0], 0);
  EXPECT_EQ(parts.last()[1], 0);
  EXPECT_EQ(parts.steepest(1)[1], 0);
}

TEST(RunParts, TellTheBeginningFromTheEnd) {
  RunParts<2> parts;
  for (int i = 0; i < 3000; ++i) parts.Add({1, 7});
  for (int i = 0; i < 3000; ++i) parts.Add({1, 2});
  const auto first = parts.first(), last = parts.last();
  EXPECT_EQ(first[1], 7 * first[0]);
  EXPECT_EQ(last[1], 2 * last[0]);
}

// However long the run is, and however much a step adds.
TEST(RunParts, AreASmallShareOfTheRun) {
  for (const double step : {0.5, 1.0, 128.0, 100000.0}) {
    RunParts<1> parts;
    for (int i = 1; i <= 5000; ++i) {
      parts.Add({step});
      if (i < 32) continue;
      const double whole = i * step;
      EXPECT_GE(parts.first()[0], whole / 20) << i << " steps of " << step;
      EXPECT_LE(parts.first()[0], whole / 7) << i << " steps of " << step;
      EXPECT_GE(parts.last()[0], whole / 20) << i << " steps of " << step;
      EXPECT_LE(parts.last()[0], whole / 3.5) << i << " steps of " << step;
    }
  }
}

TEST(RunParts, KnowTheSteepest) {
  RunParts<2> parts;
  for (int i = 0; i < 1000; ++i) parts.Add({1, i < 500 || i >= 700 ? 0.5 : 3.0});
  const auto steepest = parts.steepest(1);
  EXPECT_EQ(steepest[1], 3 * steepest[0]);
}

TEST(RunParts, CountWhatComesBetweenSteps) {
  RunParts<2> parts;
  for (int i = 0; i < 100; ++i) {
    parts.Add({10, 0});
    parts.Add({0, 4});
  }
  EXPECT_NEAR(parts.last()[1] / parts.last()[0], 0.4, 0.05);
}

}  // namespace
}  // namespace weir::metrics

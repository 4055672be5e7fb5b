#include "tools/bench/training_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace weir::bench {
namespace {

using testing::HasSubstr;

TEST(VerifyLearning, AcceptsALoglossThatFell) { EXPECT_TRUE(VerifyLearning(0.6931, 0.6930).ok()); }

TEST(VerifyLearning, RefusesOneThatDidNot) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const auto& [first, last] : {std::pair(0.6931, 0.6931),
                                    {0.6931, 0.7},
                                    {0.6931, kNan},
                                    {kNan, 0.5},
                                    {0.6931, kInfinite},
                                    {0.0, 0.0},
                                    {0.6931, 0.0},
                                    {0.6931, -1.0}}) {
    EXPECT_THAT(VerifyLearning(first, last).message(), HasSubstr("the mean logloss of a pass"))
        << first << " " << last;
  }
}

}  // namespace
}  // namespace weir::bench

#include "common/compress/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/compress/stripe_select.h"
#include "tests/common/compress/instruction_sets.h"
#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;

class CandidatesOnEachSet : public OnEachInstructionSet {};

TEST_P(CandidatesOnEachSet, AreThoseThatReachTheBoundInOrder) {
  Candidates candidates;
  candidates.Collect(std::vector{1.0f, -2.0f, std::numeric_limits<float>::quiet_NaN(), 0.5f}, 1, 0);
  candidates.Collect(std::vector{0.0f, -1.0f, 3.0f}, 1, 4);
  EXPECT_THAT(candidates.indexes(), ElementsAre(0, 1, 5, 6));
  EXPECT_THAT(candidates.magnitudes(), ElementsAre(1, 2, 1, 3));
  EXPECT_THAT(candidates.IndexesIn(1, 6), ElementsAre(1, 5));
  EXPECT_TRUE(candidates.IndexesIn(7, 90).empty());
  candidates.Keep(2);
  EXPECT_THAT(candidates.indexes(), ElementsAre(1, 6));
  candidates.Clear();
  EXPECT_EQ(candidates.count(), 0u);
}

TEST_P(CandidatesOnEachSet, AreThoseOfAPlainLoopAtEverySizeAndShare) {
  for (const int64_t size : {1, 15, 16, 17, 63, 64, 100, 4095, 4096}) {
    const std::vector<float> values = NormalGradient(size, static_cast<uint64_t>(size));
    for (const float least : {1e-30f, 0.3f, 1.0f, 2.5f, 9.0f}) {
      for (const float kept : {least, 1.5f * least}) {
        Candidates candidates;
        candidates.Collect(values, least, 8192);
        candidates.Keep(kept);
        std::vector<uint32_t> indexes;
        std::vector<float> magnitudes;
        for (size_t i = 0; i < values.size(); ++i) {
          if (std::fabs(values[i]) < kept) continue;
          indexes.push_back(8192 + static_cast<uint32_t>(i));
          magnitudes.push_back(std::fabs(values[i]));
        }
        ASSERT_THAT(candidates.indexes(), testing::ElementsAreArray(indexes)) << size;
        ASSERT_THAT(candidates.magnitudes(), testing::ElementsAreArray(magnitudes)) << size;
      }
    }
  }
}

TEST_P(CandidatesOnEachSet, AddingAndCollectingAtOnceIsOneAfterTheOther) {
  for (const int64_t size : {0, 1, 15, 16, 17, 63, 64, 100, 4095, 4096}) {
    const auto seed = static_cast<uint64_t>(size);
    const std::vector<float> gradient = NormalGradient(size, seed);
    std::vector<float> together = NormalGradient(size, seed + 1), apart = together;
    if (size > 20) together[20] = apart[20] = -gradient[20];  // zero is none of the sums
    AccumulateStripe(gradient, apart);
    for (const float least : {0.3f, 2.5f, CollectBounds::kNone}) {
      std::vector<float> residual = together;
      Candidates fused, plain;
      const CollectSums got = fused.AccumulateAndCollect(
          gradient, {.low = least, .high = least, .far = least}, 8192, residual);
      plain.Collect(apart, least, 8192);
      const Moments expected = MomentsAbove(apart, 0);
      ASSERT_EQ(residual, apart);
      ASSERT_THAT(fused.indexes(), testing::ElementsAreArray(plain.indexes())) << size;
      ASSERT_THAT(fused.magnitudes(), testing::ElementsAreArray(plain.magnitudes())) << size;
      ASSERT_EQ(got.all.count, expected.count);
      ASSERT_EQ(got.all.largest, expected.largest);
      ASSERT_EQ(got.all.sum, expected.sum);
      ASSERT_EQ(got.all.square_sum, expected.square_sum);
      ASSERT_EQ(got.between.count, 0);
    }
  }
}

TEST_P(CandidatesOnEachSet, WhatIsBetweenTheBoundsIsSummedAndNotCollected) {
  for (const int64_t size : {1, 17, 64, 100, 4095, 4096}) {
    std::vector<float> values = NormalGradient(size, static_cast<uint64_t>(size));
    if (size > 20) values[20] = std::numeric_limits<float>::quiet_NaN();
    const CollectBounds bounds{.low = 0.5f, .high = 0.6f, .far = 1.7f};
    std::vector<uint32_t> indexes;
    Moments between;
    for (size_t i = 0; i < values.size(); ++i) {
      const float magnitude = std::fabs(values[i]);
      if (magnitude >= bounds.high && magnitude < bounds.far) {
        between.Add({1, magnitude, magnitude * magnitude, magnitude, magnitude});
      } else if (magnitude >= bounds.low) {
        indexes.push_back(static_cast<uint32_t>(i));
      }
    }
    Candidates candidates;
    const std::vector<float> nothing(values.size());
    const CollectSums got = candidates.AccumulateAndCollect(nothing, bounds, 0, values);
    ASSERT_THAT(candidates.indexes(), testing::ElementsAreArray(indexes)) << size;
    ASSERT_EQ(got.between.count, between.count);
    ASSERT_EQ(got.between.least, between.least);
    ASSERT_NEAR(got.between.sum, between.sum, 1e-4 * between.sum);
    ASSERT_NEAR(got.between.square_sum, between.square_sum, 1e-4 * between.square_sum);
  }
}

TEST_P(CandidatesOnEachSet, BoundsAreWithinFromBelow) {
  const std::vector<float> values = {1, 2, -4, 0.5f, 3, CollectBounds::kNone, 0, -1.5f};
  const auto indexes_within = [&](const CollectBounds& bounds) {
    Candidates candidates;
    std::vector<float> residual = values;
    const CollectSums sums =
        candidates.AccumulateAndCollect(std::vector<float>(8), bounds, 0, residual);
    EXPECT_EQ(sums.all.count, 7);
    EXPECT_EQ(static_cast<size_t>(sums.between.count) + candidates.count(), 6u);
    return std::vector<uint32_t>(candidates.indexes().begin(), candidates.indexes().end());
  };
  EXPECT_THAT(indexes_within({.low = 1, .high = 2, .far = 4}), ElementsAre(0, 2, 5, 7));
  EXPECT_THAT(indexes_within({.low = 1, .high = 3, .far = 3}), ElementsAre(0, 1, 2, 4, 5, 7));
  EXPECT_THAT(indexes_within({.low = 1, .high = 1}), ElementsAre(5));
}

INSTANTIATE_TEST_SUITE_P(Targets, CandidatesOnEachSet, InstructionSets(), InstructionSetName);

}  // namespace
}  // namespace weir::compress

#include "common/compress/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/compress/select_kernels.h"
#include "tests/common/compress/instruction_sets.h"
#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;

class CandidatesOnEachSet : public OnEachInstructionSet {};

TEST_P(CandidatesOnEachSet, AreThoseThatReachTheBoundInOrder) {
  Candidates candidates;
  const SelectKernels& kernels = CpuSelectKernels();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  candidates.Collect(kernels, std::vector{1.0f, -2.0f, kNaN, 0.5f}, 1, 0);
  candidates.Collect(kernels, std::vector{0.0f, -1.0f, 3.0f}, 1, 4);
  EXPECT_THAT(candidates.indexes(), ElementsAre(0, 1, 5, 6));
  EXPECT_THAT(candidates.magnitudes(), ElementsAre(1, 2, 1, 3));
  EXPECT_THAT(candidates.IndexesIn(1, 6), ElementsAre(1, 5));
  EXPECT_TRUE(candidates.IndexesIn(7, 90).empty());
  EXPECT_EQ(candidates.KthLargest(1), 3);
  EXPECT_EQ(candidates.KthLargest(3), 1);
  candidates.Keep(2);
  EXPECT_THAT(candidates.indexes(), ElementsAre(1, 6));
  EXPECT_EQ(candidates.KthLargest(2), 2) << "of what is left";
  candidates.Clear();
  EXPECT_EQ(candidates.count(), 0u);
}

TEST_P(CandidatesOnEachSet, AreThoseOfAPlainLoopAtEverySizeAndShare) {
  for (const int64_t size : {1, 15, 16, 17, 63, 64, 100, 4095, 4096}) {
    const std::vector<float> values = NormalGradient(size, static_cast<uint64_t>(size));
    for (const float least : {1e-30f, 0.3f, 1.0f, 2.5f, 9.0f}) {
      for (const float kept : {least, 1.5f * least}) {
        Candidates candidates;
        candidates.Collect(CpuSelectKernels(), values, least, 8192);
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

INSTANTIATE_TEST_SUITE_P(Targets, CandidatesOnEachSet, InstructionSets(), InstructionSetName);

}  // namespace
}  // namespace weir::compress

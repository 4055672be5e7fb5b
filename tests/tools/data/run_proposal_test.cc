#include "tools/data/run_proposal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/config/defaults.h"
#include "common/config/validate_config.h"

namespace weir::tools {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::Config Proposed(const DataSize& size) {
  v1::Config config;
  ProposeRun(size, &config);
  v1::Config whole = config;
  whole.mutable_data()->mutable_synthetic();
  config::FillDefaults(&whole);
  if (size.has_numbers) {
    EXPECT_THAT(config::ValidateConfig(whole), IsEmpty());
  }
  return config;
}

TEST(RunProposal, AModelGrowsWithItsData) {
  EXPECT_THAT(Proposed({.row_count = 30'000, .has_numbers = true}).model().bottom_widths(),
              ElementsAre(64, 16));
  EXPECT_THAT(Proposed({.row_count = 1'000'000, .has_numbers = true}).model().bottom_widths(),
              ElementsAre(256, 64, 16));
  const v1::Config large =
      Proposed({.row_count = 5'000'000, .is_whole = false, .has_numbers = true});
  EXPECT_THAT(large.model().bottom_widths(), ElementsAre(512, 256, 64, 16));
  EXPECT_THAT(large.model().top_widths(), ElementsAre(512, 256, 1));
  EXPECT_THAT(Proposed({.row_count = 30'000}).model().bottom_widths(), IsEmpty());
}

TEST(RunProposal, ValuesWithFewRowsAreSeenSeldom) {
  EXPECT_EQ(Proposed({.row_count = 32'561, .value_count = 100}).data().epochs(), 12);
  EXPECT_EQ(Proposed({.row_count = 90'000, .value_count = 10'000}).data().epochs(), 4);
  EXPECT_EQ(Proposed({.row_count = 90'000, .value_count = 200'000}).data().epochs(), 1);
  EXPECT_EQ(Proposed({.row_count = 1'000'000, .value_count = 100}).data().epochs(), 1);
}

TEST(RunProposal, TheLearningRateEndsWithTheRows) {
  const v1::Config config = Proposed({.row_count = 32'561, .value_count = 100});
  EXPECT_EQ(config.update().dense().schedule().cosine().steps(), 12 * 255);
  EXPECT_EQ(config.update().rows().schedule().cosine().steps(), 12 * 255);
}

TEST(RunProposal, WithoutTheNumberOfRowsNothingEnds) {
  const v1::Config config = Proposed({.row_count = 5'000'000, .is_whole = false});
  EXPECT_FALSE(config.has_update());
  EXPECT_EQ(config.data().epochs(), 1);
}

TEST(RunProposal, FewRowsMakeEnoughSteps) {
  const v1::Config config = Proposed({.row_count = 300, .value_count = 200});
  EXPECT_EQ(config.data().batch_size(), 32);
  EXPECT_EQ(config.data().epochs(), 30);
  EXPECT_EQ(Proposed({}).data().epochs(), 30);
}

}  // namespace
}  // namespace weir::tools

// Stochastic rounding: the same bits on every instruction set, and what no level is.
#include "common/compress/stochastic_levels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "common/base/random.h"
#include "tests/common/compress/instruction_sets.h"

namespace weir::compress {
namespace {

constexpr float kTooLarge = std::numeric_limits<float>::infinity();

std::vector<float> Values(size_t size) {
  RandomStream random(3);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random.NextNormal());
  return values;
}

// The choices of a lane do not depend on how many lanes there are, so the last elements by
// themselves, at the same offset, are what they are among the others.
std::unique_ptr<StripeSelection> Rounded(std::span<const float> values, const Levels& levels,
                                         uint32_t first) {
  auto selection = std::make_unique<StripeSelection>();
  selection->count = 0;
  AppendLevels(values, levels, 0x1234567890abcdefULL, first, selection.get());
  return selection;
}

using StochasticLevels = OnEachInstructionSet;

TEST_P(StochasticLevels, AreTheSameWhateverIsTakenAtOnce) {
  const std::vector<float> values = Values(1000);
  const Levels levels = {.scale = 0.3f, .most = 3};
  const auto all = Rounded(values, levels, 0);
  ASSERT_GT(all->count, 500u);
  size_t next = 0;
  for (size_t i = 0; i < values.size(); ++i) {  // one by one
    const auto one = Rounded(std::span(values).subspan(i, 1), levels, static_cast<uint32_t>(i));
    if (one->count == 0) continue;
    ASSERT_EQ(all->indexes[next], i);
    ASSERT_EQ(all->values[next], one->values[0]);
    const float clipped = std::min(std::fabs(values[i]), 0.9f), level = one->values[0] / 0.3f;
    EXPECT_LT(std::fabs(std::fabs(level) - clipped / 0.3f), 1.0f) << "a neighbour";
    EXPECT_EQ(std::signbit(level), std::signbit(values[i]));
    ++next;
  }
  EXPECT_EQ(next, all->count);
}

TEST_P(StochasticLevels, AreThoseOfTheFirstInstructionSet) {
  static std::vector<float> first;
  const auto all = Rounded(Values(4000), {.scale = 0.1f, .most = 128}, 0);
  const std::vector<float> values(all->values.begin(), all->values.begin() + all->count);
  if (first.empty()) first = values;
  EXPECT_EQ(values, first);
}

TEST_P(StochasticLevels, EndAtTheMostAndLeaveOutWhatIsNoNumber) {
  const std::vector<float> values = {kTooLarge, std::numeric_limits<float>::quiet_NaN(), -1e30f, 0};
  const auto selection = Rounded(values, {.scale = 0.5f, .most = 3}, 0);
  ASSERT_EQ(selection->count, 2u);
  EXPECT_EQ(selection->values[0], 1.5f);
  EXPECT_EQ(selection->indexes[1], 2);
  EXPECT_EQ(selection->values[1], -1.5f);
  EXPECT_EQ(Rounded(values, {.scale = 0, .most = 3}, 0)->count, 0u);
}

INSTANTIATE_TEST_SUITE_P(Targets, StochasticLevels, InstructionSets(), InstructionSetName);

TEST(StochasticLevels, HaveASoundScaleOrNone) {
  EXPECT_EQ(SoundScale(0.5), 0.5f);
  EXPECT_EQ(SoundScale(1e300), 0);
  EXPECT_EQ(SoundScale(1e-40), 0);
  EXPECT_EQ(SoundScale(std::nan("")), 0);
}

}  // namespace
}  // namespace weir::compress

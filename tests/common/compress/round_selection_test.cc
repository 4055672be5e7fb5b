#include "common/compress/round_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <memory>
#include <vector>

#include "common/base/random.h"
#include "common/wire/value_coding.h"
#include "tests/common/compress/instruction_sets.h"

namespace weir::compress {
namespace {

// More than one chunk of the loop, and no whole number of vectors.
constexpr uint32_t kCount = 777;
constexpr float kLeastFloat = std::bit_cast<float>(1u);

using RoundSelectionOn = OnEachInstructionSet;

TEST_P(RoundSelectionOn, SendsTheRoundedKeepsTheRestAndDropsWhatBecomesZero) {
  RandomStream random(1);
  const auto selection = std::make_unique<StripeSelection>();
  std::vector<float> residual(kStripeElements), exact;
  selection->count = kCount;
  for (uint32_t k = 0; k < kCount; ++k) {
    selection->indexes[k] = static_cast<uint16_t>(5 * k);
    selection->values[k] = k % 100 == 3 ? kLeastFloat : static_cast<float>(random.NextNormal());
    exact.push_back(selection->values[k]);
  }
  RoundSelection(residual, selection.get());
  uint32_t sent = 0;
  for (uint32_t k = 0; k < kCount; ++k) {
    const float rounded = wire::RoundToBf16(exact[k]);
    ASSERT_EQ(residual[size_t{5} * k], exact[k] - rounded) << k;
    if (rounded == 0) continue;
    ASSERT_EQ(selection->indexes[sent], 5 * k);
    ASSERT_EQ(selection->values[sent], rounded) << k;
    ++sent;
  }
  EXPECT_EQ(sent, kCount - 8);
  EXPECT_EQ(selection->count, sent);
}

TEST_P(RoundSelectionOn, OfNothingIsNothing) {
  const auto selection = std::make_unique<StripeSelection>();
  std::vector<float> residual(10, 7.0f);
  RoundSelection(residual, selection.get());
  EXPECT_EQ(selection->count, 0u);
  EXPECT_EQ(residual, std::vector<float>(10, 7.0f));
}

// Any float, with ties, what overflows, what is no number and what becomes zero among them.
float FloatToRound(RandomStream* random) {
  constexpr uint32_t kSpecial[] = {0x00000000, 0x00000001, 0x00007fff, 0x00008000, 0x00008001,
                                   0x3f808000, 0x3f818000, 0x7f7f7fff, 0x7f7f8000, 0x7f7fffff,
                                   0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff};
  const auto bits = static_cast<uint32_t>(random->Next());
  if (random->NextBelow(2) == 0) return std::bit_cast<float>(bits);
  return std::bit_cast<float>(kSpecial[random->NextBelow(std::size(kSpecial))] |
                              (bits & 0x80000000));
}

// NaN stays one, whatever its bits.
bool IsSame(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// Of so many, and what lies behind them is of no meaning.
std::unique_ptr<StripeSelection> AnySelection(uint32_t count, RandomStream* random) {
  auto selection = std::make_unique<StripeSelection>();
  selection->count = count;
  selection->values.fill(0.0f);
  const auto gap = static_cast<uint32_t>(kStripeElements) / std::max(count, 1u);
  for (uint32_t k = 0; k < count; ++k) {
    selection->indexes[k] = static_cast<uint16_t>(k * gap + random->NextBelow(gap));
    selection->values[k] = FloatToRound(random);
  }
  return selection;
}

// Element by element, in place.
void RoundPlainly(std::vector<float>* residual, StripeSelection* selection) {
  uint32_t sent = 0;
  for (uint32_t k = 0; k < selection->count; ++k) {
    const uint16_t index = selection->indexes[k];
    const float exact = selection->values[k], rounded = wire::RoundToBf16(exact);
    (*residual)[index] = exact - rounded;
    if (rounded == 0) continue;
    selection->indexes[sent] = index;
    selection->values[sent++] = rounded;
  }
  selection->count = sent;
}

void ExpectPlainRounding(uint32_t count) {
  SCOPED_TRACE(count);
  RandomStream random(count);
  const auto selection = AnySelection(count, &random);
  const auto expected = std::make_unique<StripeSelection>(*selection);
  std::vector<float> residual(kStripeElements, 7.0f), expected_residual = residual;
  RoundPlainly(&expected_residual, expected.get());
  RoundSelection(residual, selection.get());
  EXPECT_TRUE(std::ranges::equal(residual, expected_residual, IsSame));
  ASSERT_EQ(selection->count, expected->count);
  for (uint32_t k = 0; k < expected->count; ++k) {
    ASSERT_EQ(selection->indexes[k], expected->indexes[k]) << k;
    ASSERT_PRED2(IsSame, selection->values[k], expected->values[k]) << k;
  }
}

TEST_P(RoundSelectionOn, AgreesWithAPlainLoopForAnyCountAndAnyFloats) {
  for (uint32_t count = 0; count <= 70; ++count) ExpectPlainRounding(count);
  for (const uint32_t count : {255u, 256u, 257u, 273u, 511u, 1000u, 2049u, 4095u, 4096u}) {
    ExpectPlainRounding(count);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RoundSelectionOn, InstructionSets(), InstructionSetName);

}  // namespace
}  // namespace weir::compress

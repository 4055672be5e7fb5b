#include "common/compress/round_selection.h"

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <vector>

#include "common/base/random.h"
#include "common/wire/value_coding.h"

namespace weir::compress {
namespace {

// More than one chunk of the loop, and no whole number of vectors.
constexpr uint32_t kCount = 777;
constexpr float kLeastFloat = std::bit_cast<float>(1u);

TEST(RoundSelection, SendsTheRoundedKeepsTheRestAndDropsWhatBecomesZero) {
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

TEST(RoundSelection, OfNothingIsNothing) {
  const auto selection = std::make_unique<StripeSelection>();
  std::vector<float> residual(10, 7.0f);
  RoundSelection(residual, selection.get());
  EXPECT_EQ(selection->count, 0u);
  EXPECT_EQ(residual, std::vector<float>(10, 7.0f));
}

}  // namespace
}  // namespace weir::compress

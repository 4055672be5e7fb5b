// Quantisers on a card: the frames of a step are the CPU's, where sums of gradients are exact.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "common/base/strings.h"
#include "tests/gpu/card.h"
#include "tests/gpu/training/encoder_pair.h"
#include "tests/gpu/training/encoder_support.h"

namespace weir::worker {
namespace {

using test::ConfigWith;
using Pair = test::EncoderPair;

class QuantisersOnACard : public testing::TestWithParam<const char*> {};

TEST_P(QuantisersOnACard, SendTheCpusBytes) {
  WEIR_SKIP_WITHOUT_A_CARD();
  Pair pair(ConfigWith(GetParam()));
  EXPECT_TRUE(pair.card().on_host().empty());
  for (uint64_t step = 0; step < 8; ++step) {
    SCOPED_TRACE(step);
    test::SetCardOrder(step);
    pair.ExpectSameStep(pair.DrawEighths(step));
  }
}

TEST_P(QuantisersOnACard, SendAsItIsWhatHasNoScale) {
  WEIR_SKIP_WITHOUT_A_CARD();
  Pair pair(ConfigWith(GetParam()));
  std::vector<float> gradients = pair.DrawEighths(1);
  gradients[5] = std::nanf("");
  pair.ExpectSameStep(gradients);
  pair.ExpectSameStep(std::vector<float>(gradients.size(), 0.0f));
}

INSTANTIATE_TEST_SUITE_P(WithoutAResidual, QuantisersOnACard,
                         testing::Values("default { qsgd { bits: 4 bucket: 512 } }",
                                         "default { qsgd { bits: 2 bucket: 4096 } }",
                                         "default { qsgd { bits: 8 bucket: 64 } }",
                                         "default { terngrad {} }",
                                         "default { terngrad { clip: 0 } }"));

// Means of later steps are of residuals, whose sums are not exact.
TEST(OneBitOnACard, KeepsWhatTheCpuDoes) {
  WEIR_SKIP_WITHOUT_A_CARD();
  for (const char* const policy : {"one_bit { bucket: 512 }", "one_bit { bucket: 64 }"}) {
    SCOPED_TRACE(policy);
    Pair pair(ConfigWith(StrCat("default { ", policy, " }")));
    EXPECT_TRUE(pair.card().on_host().empty());
    pair.ExpectSameStep(pair.DrawEighths(0));
    for (uint64_t step = 1; step < 6; ++step) pair.StepOnBoth(pair.Draw(step));
    const auto cpu = test::ResidualsOf(pair.cpu()), card = test::ResidualsOf(pair.card());
    ASSERT_EQ(card.size(), cpu.size());
    for (size_t i = 0; i < cpu.size(); ++i) ASSERT_NEAR(card[i], cpu[i], 1e-5) << i;
  }
}

}  // namespace
}  // namespace weir::worker

// 1-bit SGD: signs, their means, and the residual.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;

Selector Make(int bucket, int64_t elements) {
  v1::PolicyRule rule;
  rule.mutable_one_bit()->set_bucket(bucket);
  return {rule, MakeScope(elements)};
}

TEST(OneBit, SendsTheMeanOfEachSignAndKeepsTheRest) {
  const Selector one_bit = Make(16, 5);
  const Sent sent = one_bit.Step(std::vector<float>{1, 3, -1, -2, 0});
  EXPECT_TRUE(sent.dense);
  const float plus = 4.0f / 3;
  EXPECT_THAT(sent.values, ElementsAre(plus, plus, -1.5f, -1.5f, plus));
  EXPECT_THAT(one_bit.Residual(), ElementsAre(1 - plus, 3 - plus, 0.5, -0.5, -plus));
}

TEST(OneBit, HasMeansOfEachBucket) {
  const Selector one_bit = Make(16, 20);
  std::vector<float> gradient(20, 2);
  for (size_t i = 16; i < 20; ++i) gradient[i] = i % 2 == 0 ? -4.0f : 8.0f;
  const Sent sent = one_bit.Step(gradient);
  EXPECT_EQ(sent.values, gradient);
}

TEST(OneBit, SendsALayerAsItIsThatHasSomethingThatIsNoNumber) {
  const Selector one_bit = Make(16, 20);
  std::vector<float> gradient(20, 1);
  gradient[17] = std::numeric_limits<float>::infinity();
  const Sent sent = one_bit.Step(gradient);
  EXPECT_EQ(sent.values, gradient);
  EXPECT_EQ(one_bit.policy->value_format(one_bit.scope, sent.plan).coding, wire::ValueCoding::kF32);
  EXPECT_EQ(one_bit.Residual()[3], 0);
}

TEST(OneBit, SaysItInABitAnElement) {
  const Selector one_bit = Make(512, 4096);
  const Sent sent = one_bit.Step(NormalGradient(4096, 1));
  const wire::ValueFormat format =
      one_bit.policy->value_format(one_bit.scope, {.scales = sent.plan.scales});
  EXPECT_EQ(format.bits, 1u);
  EXPECT_TRUE(format.two_sided);
  EXPECT_EQ(format.scales.size(), 16u);
  EXPECT_EQ(sent.values.size(), 4096u);
}

}  // namespace
}  // namespace weir::compress

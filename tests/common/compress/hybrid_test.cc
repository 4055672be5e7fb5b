// Strom's quantiser with the variance's test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::PolicyRule Rule(double threshold) {
  v1::PolicyRule rule;
  rule.mutable_hybrid()->set_threshold(threshold);
  rule.mutable_hybrid()->set_decay(1);
  return rule;
}

Sent StepWith(const Selector& selector, float value, float square) {
  const std::vector<float> values = {value}, squares = {square};
  return selector.Step(values, squares);
}

// r = 0.35, v = 0.05, alpha = 2: 0.1225 > 0.1, so a quantum of 0.1 leaves, and v becomes
// max(0.05 - 0.07 + 0.01, 0) = 0: then anything beyond the threshold passes.
TEST(Hybrid, CorrectsTheSquaresByTheResidualBefore) {
  const Selector hybrid(Rule(0.1), MakeScope(1));
  EXPECT_THAT(StepWith(hybrid, 0.35f, 0.05f).values, ElementsAre(0.1f));
  EXPECT_NEAR(hybrid.Residual()[0], 0.25, 1e-7);
  // 0.0625 > 2 * 0.03 with v = 0; not with 0.01 more.
  EXPECT_THAT(StepWith(hybrid, 0, 0.03f).values, ElementsAre(0.1f));
}

// The other order leaves v = 0.05 - 0.05 + 0.01.
TEST(Hybrid, CorrectsByTheResidualAfterIfTold) {
  v1::PolicyRule rule = Rule(0.1);
  rule.mutable_hybrid()->set_correction(v1::HybridPolicy::AFTER);
  const Selector hybrid(rule, MakeScope(1));
  EXPECT_THAT(StepWith(hybrid, 0.35f, 0.05f).values, ElementsAre(0.1f));
  EXPECT_THAT(StepWith(hybrid, 0, 0.03f).values, IsEmpty());
}

TEST(Hybrid, NeedsBothTheThresholdAndTheTest) {
  const Selector hybrid(Rule(0.5), MakeScope(1));
  EXPECT_THAT(StepWith(hybrid, 0.5f, 0).values, IsEmpty()) << "not beyond the threshold";
  EXPECT_THAT(StepWith(hybrid, 0.5f, 1).values, IsEmpty()) << "1 > 2: no";
  EXPECT_THAT(StepWith(hybrid, -2.0f, 0).values, IsEmpty()) << "1 > 2: no";
  EXPECT_THAT(StepWith(hybrid, -0.5f, 0).values, ElementsAre(-0.5f)) << "2.25 > 2";
  EXPECT_EQ(hybrid.Residual()[0], -1);
}

TEST(Hybrid, NamesItsQuantumToTheCoding) {
  const Selector hybrid(Rule(0.25), MakeScope(1));
  const Sent sent = StepWith(hybrid, 1, 0);
  const wire::ValueFormat format = hybrid.policy->value_format(hybrid.scope, sent.plan);
  EXPECT_EQ(format.coding, wire::ValueCoding::kLevels);
  EXPECT_EQ(format.bits, 1u);
  EXPECT_THAT(format.scales, ElementsAre(0.25f));
}

}  // namespace
}  // namespace weir::compress

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Selector Make(double threshold, int64_t elements) {
  v1::PolicyRule rule;
  rule.mutable_strom()->set_threshold(threshold);
  return Selector(rule, MakeScope(elements));
}

// A late and a wrong sign: 0.25 is sent as two quanta, the second against the gradient of its step.
TEST(Strom, SendsOneQuantumAStep) {
  const Selector strom = Make(0.1, 1);
  EXPECT_THAT(strom.Step(std::vector{0.25f}).values, ElementsAre(0.1f));
  EXPECT_NEAR(strom.Residual()[0], 0.15, 1e-7);
  EXPECT_THAT(strom.Step(std::vector{-0.02f}).values, ElementsAre(0.1f));
  EXPECT_NEAR(strom.Residual()[0], 0.03, 1e-7);
  EXPECT_THAT(strom.Step(std::vector{-0.4f}).values, ElementsAre(-0.1f));
  EXPECT_NEAR(strom.Residual()[0], -0.27, 1e-7);
}

TEST(Strom, SendsNothingAtTheThresholdItself) {
  const Selector strom = Make(0.5, 3);
  const Sent sent = strom.Step(std::vector{0.5f, -0.5f, std::nextafter(0.5f, 1.0f)});
  EXPECT_THAT(sent.indexes, ElementsAre(2));
}

TEST(Strom, NamesItsQuantumToTheCoding) {
  const Selector strom = Make(0.25, 1);
  const wire::ValueFormat format = strom.policy->value_format(strom.scope, {});
  EXPECT_EQ(format.coding, wire::ValueCoding::kLevels);
  EXPECT_EQ(format.bits, 1u);
  EXPECT_THAT(format.scales, ElementsAre(0.25f));
}

TEST(Strom, DoesNotSendWhatIsNoNumber) {
  const Selector strom = Make(0.1, 2);
  const Sent sent = strom.Step(std::vector{std::numeric_limits<float>::quiet_NaN(), 0.01f});
  EXPECT_THAT(sent.indexes, IsEmpty());
}

TEST(Strom, SendsAQuantumOfAnInfinityOnce) {
  const Selector strom = Make(0.1, 1);
  EXPECT_THAT(strom.Step(std::vector{-std::numeric_limits<float>::infinity()}).values,
              ElementsAre(-0.1f));
  EXPECT_THAT(strom.Step(std::vector{1.0f}).indexes, IsEmpty());
}

}  // namespace
}  // namespace weir::compress

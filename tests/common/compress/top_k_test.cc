#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Selector Make(double sparsity, const Scope& scope) {
  v1::PolicyRule rule;
  rule.mutable_top_k()->set_sparsity(sparsity);
  return Selector(rule, scope);
}

TEST(TopK, SendsTheLargestAndKeepsTheRest) {
  const Selector top = Make(0.6, MakeScope(5));
  const Sent sent = top.Step(std::vector{1.0f, -5.0f, 2.0f, 4.0f, -3.0f});
  EXPECT_THAT(sent.indexes, ElementsAre(1, 3));
  EXPECT_THAT(sent.values, ElementsAre(-5.0f, 4.0f));
  EXPECT_THAT(top.Residual(), ElementsAre(1, 0, 2, 0, -3));
  EXPECT_EQ(top.policy->threshold(*top.state), 4);
}

TEST(TopK, OfEqualElementsSendsTheFirst) {
  const Selector top = Make(0.5, MakeScope(6));
  EXPECT_THAT(top.Step(std::vector{1.0f, -2.0f, 9.0f, 2.0f, -2.0f, 1.0f}).indexes,
              ElementsAre(1, 2, 3));
  EXPECT_THAT(top.Residual(), ElementsAre(1, 0, 0, 0, -2, 1));
}

TEST(TopK, SendsAllThereIsWhereLessThanThatIsNotZero) {
  const Selector top = Make(0.5, MakeScope(6));
  EXPECT_THAT(top.Step(std::vector{0.0f, 3.0f, 0.0f, 0.0f, 0.0f, 0.0f}).indexes, ElementsAre(1));
  EXPECT_THAT(top.Step(std::vector<float>(6)).indexes, IsEmpty());
}

// Against a sort by magnitude, then index.
TEST(TopK, IsExactOverStripesAndTies) {
  const Scope scope = MakeScope(3 * kStripeElements + 50);
  const Selector top = Make(0.99, scope);
  constexpr size_t kKept = 124;  // of 12338, of which 0.99 are 12214.6
  std::vector<double> expected(static_cast<size_t>(scope.element_count));
  for (uint64_t step = 0; step < 20; ++step) {
    std::vector<float> gradient = NormalGradient(scope.element_count, step);
    // Ties; and thresholds that fall by far more than a tenth, after which too few candidates are
    // left.
    const float scale = step % 5 == 4 ? 0 : 1;
    for (float& value : gradient) value = scale * std::round(value * 8) / 8;
    if (step == 3) gradient.assign(gradient.size(), 1000);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += static_cast<double>(gradient[i]);
    std::vector<int64_t> order(expected.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](int64_t i) {
      return std::fabs(expected[static_cast<size_t>(i)]);
    });
    order.resize(kKept);
    std::ranges::sort(order);
    const Sent sent = top.Step(gradient);
    ASSERT_EQ(sent.indexes, order) << "step " << step;
    for (size_t i = 0; i < order.size(); ++i) {
      double& value = expected[static_cast<size_t>(order[i])];
      ASSERT_EQ(static_cast<double>(sent.values[i]), value);
      value = 0;
    }
  }
}

TEST(TopK, LeavesTheRoundingOfBf16InTheResidual) {
  const Selector top = Make(0.5, MakeScope(2, wire::ValueCoding::kBf16));
  EXPECT_THAT(top.Step(std::vector{1.0f + 0x1p-10f, 0.25f}).values, ElementsAre(1.0f));
  EXPECT_THAT(top.Residual(), ElementsAre(0x1p-10, 0.25));
}

}  // namespace
}  // namespace weir::compress

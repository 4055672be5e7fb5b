// How near its target a policy stays, simulated: density within 15 % of the target over the run
// and within 30 % over any 1,000 steps after the first 200, on noise whose scale falls by a factor
// of three.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <vector>

#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

constexpr size_t kWindowSteps = 1000;
constexpr size_t kWarmUpSteps = 200;

// Gradients are windows of one pool of normal numbers, at random places: drawing each anew would
// take most of the test's time.
const std::vector<float>& NormalPool() {
  static const std::vector<float> pool = NormalGradient(1 << 20, 5);
  return pool;
}

// Elements sent up to each step: steps + 1 sums.
std::vector<double> SentSums(const DctOptions& options, int64_t element_count, size_t step_count) {
  const auto policy = MakeDct(options);
  const Scope scope = MakeScope(element_count);
  const auto state = policy->MakeState(scope);
  RandomStream random(23, element_count);
  std::vector<float> gradient(static_cast<size_t>(element_count));
  std::vector<double> sums = {0};
  for (size_t step = 0; step < step_count; ++step) {
    const double progress = static_cast<double>(step) / static_cast<double>(step_count);
    const auto scale = static_cast<float>(0.01 * std::pow(3.0, -progress));
    const size_t start = random.NextBelow(NormalPool().size() - gradient.size());
    for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = scale * NormalPool()[start + i];
    const Sent sent = TakeStep(*policy, *state, scope, gradient);
    sums.push_back(sums.back() + static_cast<double>(sent.values.size()));
  }
  return sums;
}

// Density from step first for step_count steps, over its target.
double Relative(const std::vector<double>& sums, const DctOptions& options, int64_t element_count,
                size_t first, size_t step_count) {
  const double density = (sums[first + step_count] - sums[first]) /
                         static_cast<double>(step_count) / static_cast<double>(element_count);
  return density / (1.0 - options.sparsity);
}

struct Case {
  int64_t element_count = 0;
  double sparsity = 0;
  int32_t lifespan = 0;
  size_t step_count = 3000;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.element_count << " elements, sparsity " << c.sparsity << ", lifespan " << c.lifespan;
}

class Density : public testing::TestWithParam<Case> {};

TEST_P(Density, StaysNearItsTargetWhileTheGradientsScaleFalls) {
  const auto& [elements, sparsity, lifespan, steps] = GetParam();
  const DctOptions options = {.sparsity = sparsity, .lifespan = lifespan};
  const std::vector<double> sums = SentSums(options, elements, steps);
  EXPECT_NEAR(Relative(sums, options, elements, 0, steps), 1.0, 0.15) << "over the run";
  double least = 10, most = 0;
  for (size_t first = kWarmUpSteps; first + kWindowSteps <= steps; ++first) {
    const double window = Relative(sums, options, elements, first, kWindowSteps);
    least = std::min(least, window);
    most = std::max(most, window);
  }
  EXPECT_GE(least, 0.7) << "in some window";
  EXPECT_LE(most, 1.3) << "in some window";
}

INSTANTIATE_TEST_SUITE_P(
    DctDp, Density,
    testing::Values(Case{1024, 0.95, 100}, Case{1024, 0.95, 1000}, Case{1024, 0.99, 100},
                    Case{1024, 0.99, 1000}, Case{8192, 0.95, 100}, Case{8192, 0.95, 1000},
                    Case{8192, 0.99, 100}, Case{8192, 0.99, 1000}, Case{131072, 0.95, 1000, 2100},
                    Case{131072, 0.99, 100, 1300}, Case{131072, 0.99, 1000, 2100}));

// The paper's form, so that the test above is known to tell the difference.
TEST(DensityOfThePaper, ExceedsTheTargetAfterAColdStart) {
  for (const double sparsity : {0.95, 0.99}) {
    const DctOptions options = {
        .sparsity = sparsity, .start = v1::DctPolicy::PAPER, .controller = false};
    const std::vector<double> sums = SentSums(options, 8192, 3 * kWindowSteps);
    EXPECT_GT(Relative(sums, options, 8192, 0, kWindowSteps), 1.5) << sparsity;
  }
}

TEST(DensityOfThePaper, IsTheTargetWhenTheThresholdIsRecomputedEveryStep) {
  const DctOptions options = {
      .sparsity = 0.95, .lifespan = 1, .start = v1::DctPolicy::PAPER, .controller = false};
  const std::vector<double> sums = SentSums(options, 8192, 50);
  const int64_t kept = 8192 - 7782;  // floor(8192 * 0.95) = 7782
  EXPECT_EQ(sums.back(), static_cast<double>(50 * kept));
}

}  // namespace
}  // namespace weir::compress

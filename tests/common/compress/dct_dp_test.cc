// DCT is Dynamic Communication Thresholding (Gupta et al., KDD 2021); the worked examples are of
// section 3.2, whose text keeps one element less than its algorithm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

// The paper's rule with nothing added to it.
DctOptions Plain(double sparsity, int32_t lifespan = 1000) {
  return {.sparsity = sparsity,
          .lifespan = lifespan,
          .start = v1::DctPolicy::PAPER,
          .controller = false};
}

// A policy with one layer.
class Layer {
 public:
  Layer(const DctOptions& options, const Scope& layer_scope)
      : scope(layer_scope), policy(MakeDct(options)), state(policy->MakeState(scope)) {}
  Layer(const DctOptions& options, size_t element_count)
      : Layer(options, MakeScope(static_cast<int64_t>(element_count))) {}

  Sent Step(std::span<const float> gradient) { return TakeStep(*policy, *state, scope, gradient); }
  std::vector<double> TakeResidual() { return ResidualOf(*policy, *state); }
  double threshold() const { return policy->threshold(*state); }

  const Scope scope;
  const std::unique_ptr<const Policy> policy;
  const std::unique_ptr<PolicyState> state;
};

// 1 .. count, signs alternating.
std::vector<float> Ramp(size_t count) {
  std::vector<float> ramp(count);
  for (size_t i = 0; i < count; ++i) {
    ramp[i] = static_cast<float>(i + 1) * (i % 2 == 0 ? 1.0f : -1.0f);
  }
  return ramp;
}

TEST(DctDp, KeepsTheLargestMagnitudesByTheTextsIndex) {
  Layer layer(Plain(0.8), 10);
  const Sent sent = layer.Step(Ramp(10));
  EXPECT_THAT(sent.indexes, ElementsAre(8, 9));
  EXPECT_THAT(sent.values, ElementsAre(9.0f, -10.0f));
  EXPECT_EQ(layer.threshold(), 9);
  EXPECT_THAT(layer.TakeResidual(), ElementsAre(1, -2, 3, -4, 5, -6, 7, -8, 0, 0));
}

DctOptions OneBased(double sparsity) {
  DctOptions options = Plain(sparsity);
  options.one_based_rank = true;
  return options;
}

TEST(DctDp, KeepsOneMoreByTheAlgorithmsIndex) {
  Layer layer(OneBased(0.8), 10);
  const Sent sent = layer.Step(Ramp(10));
  EXPECT_THAT(sent.indexes, ElementsAre(7, 8, 9));
  EXPECT_EQ(layer.threshold(), 8);
  EXPECT_EQ(Layer(OneBased(0.95), 1000).Step(Ramp(1000)).values.size(), 51u);
}

// Rank 0, which the algorithm has no element for, is that of the smallest.
TEST(DctDp, SendsEverythingByTheAlgorithmsIndexBelowTheFirst) {
  EXPECT_EQ(Layer(OneBased(0), 10).Step(Ramp(10)).values.size(), 10u);
  EXPECT_EQ(Layer(OneBased(0.09), 10).Step(Ramp(10)).values.size(), 10u);
  EXPECT_EQ(Layer(OneBased(0.99), 1).Step(Ramp(1)).values.size(), 1u);
}

TEST(DctDp, ControlsTowardsTheCountOfItsIndex) {
  DctOptions options = OneBased(0.9);
  options.lifespan = 1'000'000;
  options.controller = true;
  Layer layer(options, 20);
  int64_t sent = 0;
  for (uint64_t step = 0; step < 6000; ++step) {
    const Sent one = layer.Step(NormalGradient(20, step));
    if (step >= 2000) sent += std::ssize(one.values);
  }
  EXPECT_NEAR(static_cast<double>(sent) / 4000, 3, 0.3);
}

TEST(DctDp, TakesSparsityAsTheDecimalThatWasWritten) {
  for (const int percent : {1, 7, 29, 57, 58, 95, 99}) {
    Layer layer(Plain(percent / 100.0), 100);
    EXPECT_EQ(layer.Step(Ramp(100)).values.size(), 100u - static_cast<size_t>(percent)) << percent;
  }
}

TEST(DctDp, KeepsAtLeastOneElement) {
  Layer layer(Plain(0.99), 3);
  EXPECT_THAT(layer.Step(Ramp(3)).indexes, ElementsAre(2));
}

TEST(DctDp, SendsEverythingAtSparsityZero) {
  Layer layer(Plain(0), 5000);
  EXPECT_EQ(layer.Step(Ramp(5000)).values.size(), 5000u);
}

TEST(DctDp, SendsAllTies) {
  Layer layer(Plain(0.8), 10);
  const std::vector<float> gradient = {1, 1, 1, 7, -7, 7, 1, 1, 1, 1};
  EXPECT_THAT(layer.Step(gradient).indexes, ElementsAre(3, 4, 5));
}

TEST(DctDp, TakesTheSmallestThatIsNotZeroForAQuantileOfZero) {
  Layer layer(Plain(0.5), 10);
  std::vector<float> gradient(10);
  gradient[4] = 0.5f;
  gradient[7] = -0.0f;
  gradient[8] = -0.25f;
  const Sent sent = layer.Step(gradient);
  EXPECT_EQ(sent.plan.threshold, 0.25f);
  EXPECT_THAT(sent.indexes, ElementsAre(4, 8));
  EXPECT_THAT(layer.Step(std::vector<float>(10, 0.1f)).indexes, IsEmpty())
      << "elements that come to life later are compared with it";
}

TEST(DctDp, HasNoThresholdUntilSomethingIsNotZero) {
  Layer layer(Plain(0.8), 10);
  for (int step = 0; step < 3; ++step) {
    const Sent sent = layer.Step(std::vector<float>(10));
    EXPECT_FALSE(sent.plan.threshold);
    EXPECT_THAT(sent.indexes, IsEmpty());
    EXPECT_EQ(layer.threshold(), 0);
  }
  const Sent sent = layer.Step(Ramp(10));
  EXPECT_EQ(sent.plan.threshold, 9);
  EXPECT_THAT(sent.indexes, ElementsAre(8, 9));
}

TEST(DctDp, ZerosAtARecomputeStepDoNotOpenTheLayer) {
  DctOptions options = Plain(0.9, 4);
  options.drain = v1::DctPolicy::DISCARD;  // so that the residual is zero at the next step
  options.drain_period = 1;
  Layer layer(options, 10);
  for (int step = 0; step < 4; ++step) layer.Step(Ramp(10));
  EXPECT_THAT(layer.Step(std::vector<float>(10)).indexes, IsEmpty());
  EXPECT_THAT(layer.Step(Ramp(10)).indexes, ElementsAre(9));
}

TEST(DctDp, AStepWithoutAThresholdSaysNothingAboutTheOneThatCame) {
  DctOptions options = Plain(0.9);
  options.controller = true;
  Layer layer(options, 10);
  const StepPlan early = layer.policy->BeginStep(*layer.state, std::vector<float>(10));
  layer.policy->BeginStep(*layer.state, Ramp(10));
  ASSERT_EQ(layer.threshold(), 10);
  auto selection = std::make_unique<StripeSelection>();
  ASSERT_TRUE(layer.policy->SelectStripe(*layer.state, early, 0, Ramp(10), true, selection.get()));
  EXPECT_EQ(selection->count, 0u);
  layer.policy->EndStep(*layer.state, early, 0);
  EXPECT_EQ(layer.threshold(), 10);
  EXPECT_EQ(layer.TakeResidual()[9], -10) << "what was not sent is kept";
}

// While one thread takes the first quantile, the others are already at their steps.
TEST(DctDp, NoThreadSendsTheWholeLayerAtTheStart) {
  constexpr size_t kThreads = 8;
  constexpr int64_t kElements = 200'000;
  for (const auto start : {v1::DctPolicy::PAPER, v1::DctPolicy::DOUBLING}) {
    for (uint64_t round = 0; round < 5; ++round) {
      Layer layer({.sparsity = 0.99, .start = start}, MakeScope(kElements));
      std::barrier all_ready(kThreads);
      std::array<size_t, kThreads> sent_counts = {};
      std::vector<std::jthread> threads;
      for (size_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
          const std::vector<float> gradient = NormalGradient(kElements, 10 * round + thread);
          all_ready.arrive_and_wait();
          sent_counts[thread] = layer.Step(gradient).values.size();
        });
      }
      threads.clear();
      // The sum of eight gradients, compared with the threshold of one, passes with 36 %.
      for (const size_t count : sent_counts) EXPECT_LT(count, kElements / 2);
    }
  }
}

TEST(DctDp, ComparesTheResidualTogetherWithTheGradient) {
  Layer layer(Plain(0.75), 4);
  EXPECT_THAT(layer.Step(std::vector{1.0f, 2.0f, 3.0f, 4.0f}).values, ElementsAre(4.0f));
  EXPECT_THAT(layer.Step(std::vector{1.0f, 2.0f, 0.5f, 3.5f}).values, ElementsAre(4.0f));
  EXPECT_THAT(layer.TakeResidual(), ElementsAre(2, 0, 3.5, 3.5));
}

// The residual grows by scale in every step, so the quantile changes whenever it is taken.
std::vector<uint64_t> RecomputeSteps(v1::DctPolicy::Start start, int32_t lifespan, uint64_t steps) {
  Layer layer({.sparsity = 0.5, .lifespan = lifespan, .start = start, .controller = false}, 64);
  std::vector<uint64_t> changes;
  double last = 0;
  for (uint64_t step = 0; step < steps; ++step) {
    layer.Step(NormalGradient(64, step, static_cast<double>(step + 1)));
    if (layer.threshold() != last) changes.push_back(step);
    last = layer.threshold();
  }
  return changes;
}

TEST(DctDp, RecomputesEveryLifespan) {
  EXPECT_THAT(RecomputeSteps(v1::DctPolicy::PAPER, 10, 35), ElementsAre(0, 10, 20, 30));
  EXPECT_EQ(RecomputeSteps(v1::DctPolicy::PAPER, 1, 9).size(), 9u);
}

TEST(DctDp, RecomputesAtDoublingStepsFirst) {
  EXPECT_THAT(RecomputeSteps(v1::DctPolicy::DOUBLING, 10, 35),
              ElementsAre(0, 1, 2, 4, 8, 10, 20, 30));
  EXPECT_THAT(RecomputeSteps(v1::DctPolicy::DOUBLING, 16, 33), ElementsAre(0, 1, 2, 4, 8, 16, 32));
}

TEST(DctDp, SamplesALargeTensorCloselyEnough) {
  const size_t elements = 300'001;
  Layer layer(Plain(0.99), elements);
  std::vector<float> gradient(elements);
  // Large values at one end: a sample of that end alone would be far off.
  for (size_t i = 0; i < elements; ++i) gradient[i] = static_cast<float>(i + 1);
  EXPECT_NEAR(static_cast<double>(layer.Step(gradient).values.size()), 3000, 300);
}

// Of more elements than a sample has.
TEST(DctDp, ASortedLayerKeepsExactlyWhatTheTextSays) {
  const size_t elements = 300'001;
  DctOptions options = Plain(0.99, 1);
  options.quantile = v1::DctPolicy::SORTED;
  Layer layer(options, elements);
  for (uint64_t step = 0; step < 3; ++step) {
    const Sent sent = layer.Step(NormalGradient(elements, step));
    EXPECT_EQ(sent.values.size(), elements - 297'000) << step;
  }
}

TEST(DctDp, ASortedLayerTakesTheSmallestThatIsNotZeroForAQuantileOfZero) {
  DctOptions options = Plain(0.5);
  options.quantile = v1::DctPolicy::SORTED;
  Layer layer(options, 10);
  std::vector<float> gradient(10);
  gradient[4] = 0.5f;
  gradient[8] = -0.25f;
  const Sent sent = layer.Step(gradient);
  EXPECT_EQ(sent.plan.threshold, 0.25f);
  EXPECT_THAT(sent.indexes, ElementsAre(4, 8));
}

TEST(DctDp, LeavesTheRoundingOfBf16InTheResidual) {
  Layer layer(Plain(0.5), MakeScope(2, wire::ValueCoding::kBf16));
  const float value = 1.0f + 0x1p-10f;
  EXPECT_THAT(layer.Step(std::vector{value, 0.25f}).values, ElementsAre(1.0f));
  EXPECT_THAT(layer.TakeResidual(), ElementsAre(0x1p-10, 0.25));
}

TEST(DctDp, KeepsWhatBf16CannotReach) {
  Layer layer(Plain(0), MakeScope(1, wire::ValueCoding::kBf16));
  const float largest = std::numeric_limits<float>::max();
  const Sent sent = layer.Step(std::vector{largest});
  ASSERT_EQ(sent.values.size(), 1u);
  EXPECT_TRUE(std::isfinite(sent.values[0]));
  EXPECT_EQ(layer.TakeResidual()[0],
            static_cast<double>(largest) - static_cast<double>(sent.values[0]));
}

TEST(DctDp, AccumulatesWithoutSending) {
  Layer layer(Plain(0.9), 5000);
  const std::vector<float> gradient = Ramp(5000);
  layer.policy->Accumulate(*layer.state, gradient);
  layer.policy->Accumulate(*layer.state, gradient);
  const std::vector<double> residual = layer.TakeResidual();
  for (size_t i = 0; i < gradient.size(); ++i) ASSERT_EQ(residual[i], 2 * gradient[i]) << i;
}

TEST(DctDp, NeverDrainsWhenToldSo) {
  DctOptions options = Plain(0.9);
  options.drain_period = 1;
  Layer layer(options, 10);
  EXPECT_EQ(layer.Step(Ramp(10)).values.size(), 1u);
  EXPECT_EQ(layer.policy->discarded_l1(*layer.state), 0);
  EXPECT_EQ(layer.TakeResidual()[8], 9);
}

TEST(DctDp, DiscardForgetsTheResidualAndCountsIt) {
  DctOptions options = Plain(0.9);
  options.drain = v1::DctPolicy::DISCARD;
  options.drain_period = 1;
  Layer layer(options, 10);
  EXPECT_THAT(layer.Step(Ramp(10)).values, ElementsAre(-10.0f));
  EXPECT_EQ(layer.policy->discarded_l1(*layer.state), 45);
  layer.Step(Ramp(10));
  EXPECT_EQ(layer.policy->discarded_l1(*layer.state), 90);
  EXPECT_THAT(layer.TakeResidual(), Each(0));
}

TEST(DctDp, DecayForgetsAPartEveryLifespan) {
  DctOptions options = Plain(0.9);
  options.lifespan = 2;
  options.drain = v1::DctPolicy::DECAY;
  options.drain_factor = 0.25;
  Layer layer(options, 10);
  const std::vector<float> none(10);
  EXPECT_THAT(layer.Step(Ramp(10)).values, ElementsAre(-10.0f));
  EXPECT_THAT(layer.Step(none).values, IsEmpty());
  EXPECT_EQ(layer.policy->discarded_l1(*layer.state), 0) << "the first one has nothing old yet";
  EXPECT_THAT(layer.Step(none).values, ElementsAre(9.0f));  // step 2, a new threshold
  EXPECT_EQ(layer.policy->discarded_l1(*layer.state), 0.75 * 36);
  EXPECT_THAT(layer.Step(none).values, IsEmpty());
  const std::vector<double> residual = layer.TakeResidual();
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(residual[i], 0.25 * Ramp(10)[i]) << i;
}

TEST(DctDp, FlushSendsTheResidualWhole) {
  DctOptions options = Plain(0.9);
  options.drain = v1::DctPolicy::FLUSH;
  options.drain_period = 1;
  options.controller = true;
  Layer layer(options, 10);
  layer.policy->Accumulate(*layer.state, Ramp(10));
  const Sent sent = layer.Step(std::vector<float>(10));
  EXPECT_TRUE(sent.plan.flush);
  EXPECT_EQ(sent.values, Ramp(10));
  EXPECT_EQ(layer.policy->discarded_l1(*layer.state), 0);
  EXPECT_EQ(layer.threshold(), 10) << "a flush says nothing about the threshold";
  EXPECT_THAT(layer.TakeResidual(), Each(0));
}

std::vector<uint64_t> FlushSteps(uint32_t tensor, uint64_t seed) {
  DctOptions options = Plain(0.9);
  options.drain = v1::DctPolicy::FLUSH;
  options.drain_period = 20;
  const Scope scope = {.tensor = tensor, .element_count = 8, .seed = seed};
  Layer layer(options, scope);
  std::vector<uint64_t> steps;
  for (uint64_t step = 0; step < 4000; ++step) {
    if (layer.Step(std::vector<float>(8, 1.0f)).plan.flush) steps.push_back(step);
  }
  return steps;
}

TEST(DctDp, DrainsOncePerPeriodOnAverageEachLayerForItself) {
  EXPECT_NEAR(static_cast<double>(FlushSteps(0, 1).size()), 200, 60);
  EXPECT_EQ(FlushSteps(0, 1), FlushSteps(0, 1));
  EXPECT_NE(FlushSteps(0, 1), FlushSteps(1, 1));
  EXPECT_NE(FlushSteps(0, 1), FlushSteps(0, 2));
}

TEST(DctDp, OneThreadIsReproducible) {
  const auto run = [] {
    Layer layer(
        {.sparsity = 0.95, .lifespan = 8, .drain = v1::DctPolicy::DISCARD, .drain_period = 10},
        MakeScope(100'000, wire::ValueCoding::kBf16));
    std::vector<std::pair<std::vector<int64_t>, std::vector<float>>> sent;
    for (uint64_t step = 0; step < 20; ++step) {
      Sent taken = layer.Step(NormalGradient(100'000, step));
      sent.emplace_back(std::move(taken.indexes), std::move(taken.values));
    }
    return sent;
  };
  EXPECT_EQ(run(), run());
}

TEST(DctDp, TakesDenormals) {
  Layer layer(Plain(0.5), 4);
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_THAT(layer.Step(std::vector{tiny, -2 * tiny, 3 * tiny, -4 * tiny}).values,
              ElementsAre(3 * tiny, -4 * tiny));
}

TEST(DctDp, TakesATensorWithoutElements) {
  Layer layer(Plain(0.5), size_t{0});
  EXPECT_TRUE(layer.Step({}).values.empty());
}

// The server ends the run for it. What else is sent is what would be sent without.
TEST(DctDp, ANaNIsSentAndDoesNotSpoilTheThreshold) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const size_t nan_stride : {1u, 2u, 3u, 1000u}) {
    Layer layer(Plain(0.9, 1), 10'000);
    std::vector<float> gradient = NormalGradient(10'000, 4);
    for (size_t i = 0; i < gradient.size(); i += nan_stride) gradient[i] = kNaN;
    const double share_of_numbers = 1.0 - 1.0 / static_cast<double>(nan_stride);
    for (int step = 0; step < 3; ++step) {
      const Sent sent = layer.Step(gradient);
      EXPECT_FALSE(std::isnan(sent.plan.threshold.value_or(0))) << nan_stride;
      const auto nans = std::ranges::count_if(sent.values, [](float v) { return std::isnan(v); });
      // Of numbers there are none with a stride of 1, and so no threshold.
      EXPECT_EQ(nans, nan_stride == 1 ? 0 : static_cast<std::ptrdiff_t>((9'999 / nan_stride) + 1));
      EXPECT_NEAR(static_cast<double>(std::ssize(sent.values) - nans), 1000 * share_of_numbers, 5);
    }
  }
}

TEST(DctDp, AnInfinityIsSentAndTheOthersGoOn) {
  Layer layer(Plain(0.75, 1), 8);
  std::vector<float> gradient = Ramp(8);
  gradient[3] = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(layer.Step(gradient).indexes, ElementsAre(3, 7));
  gradient[3] = 0;
  EXPECT_THAT(layer.Step(gradient).indexes, ElementsAre(3, 5, 6)) << "what it left is NaN";
}

}  // namespace
}  // namespace weir::compress

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/compress/magnitude_moments.h"
#include "common/compress/tail_fit.h"
#include "tests/common/compress/instruction_sets.h"
#include "tests/common/compress/policy_support.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kDistributions = {v1::SidcoPolicy::EXPONENTIAL, v1::SidcoPolicy::PARETO,
                                 v1::SidcoPolicy::GAMMA};

Selector Make(double sparsity, int stages, int64_t elements,
              v1::SidcoPolicy::Distribution distribution = v1::SidcoPolicy::EXPONENTIAL) {
  v1::PolicyRule rule;
  rule.mutable_sidco()->set_sparsity(sparsity);
  rule.mutable_sidco()->set_stages(stages);
  rule.mutable_sidco()->set_distribution(distribution);
  return Selector(rule, MakeScope(elements));
}

std::vector<float> OneToTen() { return {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}; }

TEST(Sidco, TakesTheTailOfTheTailInTheSecondStage) {
  const Moments all = MomentsAbove(OneToTen(), 0);
  const double first = ExponentialThreshold(all, 0, 0.25);
  EXPECT_NEAR(first, 7.6246, 1e-4);
  const Moments tail = MomentsAbove(OneToTen(), static_cast<float>(first));
  EXPECT_EQ(tail.count, 3);
  EXPECT_NEAR(ExponentialThreshold(tail, 8, 0.4), 8.9163, 1e-4);
  const Selector sidco = Make(0.9, 2, 10);
  EXPECT_THAT(sidco.Step(OneToTen()).values, ElementsAre(9.0f, 10.0f));
}

// The fit alone gives 12.664, and would send nothing.
TEST(Sidco, AlwaysSendsTheLargest) {
  EXPECT_NEAR(ExponentialThreshold(MomentsAbove(OneToTen(), 0), 0, 0.1), 12.664, 1e-3);
  EXPECT_THAT(Make(0.9, 1, 10).Step(OneToTen()).values, ElementsAre(10.0f));
}

v1::PolicyRule Uncapped(int stages) {
  v1::PolicyRule rule;
  rule.mutable_sidco()->set_sparsity(0.9);
  rule.mutable_sidco()->set_stages(stages);
  rule.mutable_sidco()->set_cap_at_largest(false);
  return rule;
}

TEST(Sidco, SendsNothingAboveTheLargestAsThePaperDoes) {
  const Selector sidco(Uncapped(1), MakeScope(10));
  EXPECT_THAT(sidco.Step(OneToTen()).indexes, IsEmpty());
  EXPECT_NEAR(sidco.policy->threshold(*sidco.state), 12.664, 1e-3);
  EXPECT_THAT(sidco.Residual(), testing::ElementsAreArray(OneToTen())) << "all of it is kept";
  std::vector<float> one_grows(10);
  one_grows[9] = 20;
  EXPECT_THAT(sidco.Step(one_grows).indexes, ElementsAre(9));
}

// The second stage finds no tail: the first threshold, 12.664 ln 4 / ln 10, stays.
TEST(Sidco, AnEmptyTailEndsTheStages) {
  const Selector sidco(Uncapped(2), MakeScope(10));
  const std::vector<float> equal(10, 3.0f);
  EXPECT_THAT(sidco.Step(equal).indexes, IsEmpty());
  EXPECT_NEAR(sidco.policy->threshold(*sidco.state), 3 * std::log(4), 1e-5);
}

TEST(Sidco, AThresholdBeyondFloatsSendsNothingAndGoesOn) {
  const Selector sidco(Uncapped(1), MakeScope(10));
  EXPECT_THAT(sidco.Step(std::vector<float>(10, 3e38f)).indexes, IsEmpty());
  EXPECT_THAT(sidco.Step(std::vector<float>(10, -3e38f)).indexes, IsEmpty());
  std::vector<float> small = OneToTen();
  small[9] = 100;
  EXPECT_THAT(sidco.Step(small).indexes, ElementsAre(9));
}

TEST(Sidco, LeavesZerosOutOfTheFit) {
  std::vector<float> gradient = OneToTen();
  gradient.resize(20);
  // A tenth of twenty elements is a fifth of those that are not zero.
  const Selector sidco = Make(0.9, 1, 20);
  sidco.Step(gradient);
  EXPECT_NEAR(sidco.policy->threshold(*sidco.state),
              ExponentialThreshold(MomentsAbove(OneToTen(), 0), 0, 0.2), 1e-5);
}

TEST(Sidco, SendsNothingForNothing) {
  EXPECT_THAT(Make(0.9, 1, 10).Step(std::vector<float>(10)).indexes, IsEmpty());
}

// Whoever applies it ends the run.
TEST(Sidco, SendsAnInfinityAndGoesOn) {
  for (const auto distribution : kDistributions) {
    const Selector sidco = Make(0.9, 0, 100, distribution);
    std::vector<float> gradient = NormalGradient(100, 1);
    gradient[3] = std::numeric_limits<float>::infinity();
    EXPECT_THAT(sidco.Step(gradient).indexes, ElementsAre(3));
    for (int step = 0; step < 20; ++step) {
      const Sent sent = sidco.Step(NormalGradient(100, 2));
      EXPECT_THAT(sent.indexes, testing::Contains(3)) << "what it left is NaN";
      ASSERT_GT(sent.indexes.size(), 1u);
      ASSERT_TRUE(std::isfinite(sidco.policy->threshold(*sidco.state)));
    }
  }
}

// Whether or not it is one of the sample.
TEST(Sidco, SendsAnInfinityOfALargeLayer) {
  constexpr int64_t kElements = 400'000;
  for (const size_t place : {5u, 16u, 77'777u, 399'999u}) {
    std::vector<float> gradient = NormalGradient(kElements, 3);
    gradient[place] = -std::numeric_limits<float>::infinity();
    const Selector sidco = Make(0.99, 2, kElements);
    EXPECT_THAT(sidco.Step(gradient).indexes, testing::Contains(static_cast<int64_t>(place)));
  }
}

TEST(Sidco, SendsSomeOfTinyAndOfHugeMagnitudes) {
  for (const auto distribution : kDistributions) {
    for (const double scale : {1e-23, 1e18}) {
      const Selector sidco = Make(0.99, 0, 100'000, distribution);
      double sent = 0;
      for (uint64_t step = 0; step < 30; ++step) {
        const Sent one = sidco.Step(NormalGradient(100'000, step, scale));
        if (step >= 20) sent += static_cast<double>(one.indexes.size()) / 10;
      }
      EXPECT_GT(sent, 300) << distribution << ", " << scale;
      EXPECT_LT(sent, 3000) << distribution << ", " << scale;
    }
  }
}

// The paper's algorithm on the whole residual, with the deviations. kept: of all elements.
double PlainThreshold(const std::vector<float>& residual, double kept, int stages,
                      v1::SidcoPolicy::Distribution distribution) {
  const auto tail_from = [&](double from) {
    Moments tail;
    for (const float value : residual) {
      const float magnitude = std::fabs(value);
      if (magnitude == 0 || magnitude < from) continue;
      tail.Add({1, magnitude, double{magnitude} * magnitude, magnitude, magnitude});
    }
    return tail;
  };
  const Moments all = tail_from(0);
  const double ratio = kept / static_cast<double>(all.count);
  if (ratio >= 1) return 0;
  if (ratio >= 0.25) stages = 1;
  const auto threshold = [&](const Moments& tail, double offset, double tail_ratio) {
    const double fitted = distribution == v1::SidcoPolicy::PARETO
                              ? ParetoThreshold(tail, offset, tail_ratio)
                              : ExponentialThreshold(tail, offset, tail_ratio);
    return std::min<double>(fitted, all.largest);
  };
  if (stages == 1) return threshold(all, 0, ratio);
  double least = threshold(all, 0, 0.25);
  for (int stage = 1; stage < stages; ++stage) {
    const Moments tail = tail_from(least);
    least = threshold(tail, tail.least, std::pow(ratio / 0.25, 1.0 / (stages - 1)));
  }
  return least;
}

constexpr int64_t kChanging = 50'000;

// Residuals that follow each other: of other scales, without a tail, with few elements or none.
std::vector<std::vector<float>> ChangingResiduals() {
  std::vector<std::vector<float>> residuals;
  RandomStream random(6);
  const auto add = [&](int64_t nonzero_count, const auto& magnitude) {
    std::vector<float>& residual = residuals.emplace_back(kChanging);
    for (int64_t i = 0; i < nonzero_count; ++i) {
      residual[static_cast<size_t>(i * 7 % kChanging)] =
          static_cast<float>(random.NextUnit() < 0.5 ? -magnitude() : magnitude());
    }
  };
  const auto exponential = [&](double mean) {
    return [&random, mean] { return -mean * std::log(1 - random.NextUnit()); };
  };
  for (const double mean : {1.0, 1.0, 1.02, 1.0, 40.0, 1.0, 1.1, 1e-3, 1.0}) {
    add(kChanging, exponential(mean));
  }
  add(kChanging, [&] { return 2 * random.NextUnit(); });
  add(kChanging, exponential(1));
  // A third of what is not zero is sent, which has one stage.
  add(3 * kChanging / 100, exponential(std::log(4) / std::log(3)));
  add(kChanging, exponential(1));
  add(kChanging, [] { return 1; });
  add(kChanging, exponential(1));
  add(kChanging / 200, exponential(1));  // fewer than are to be sent
  add(kChanging, exponential(1));
  add(0, exponential(1));
  add(kChanging, exponential(1));
  return residuals;
}

void ExpectFitsOf(v1::SidcoPolicy::Distribution distribution, int stages) {
  SCOPED_TRACE(testing::Message() << distribution << ", " << stages << " stages");
  const Selector sidco = Make(0.99, stages, kChanging, distribution);
  std::vector<float> left(kChanging);
  int step = 0;
  for (std::vector<float>& residual : ChangingResiduals()) {
    std::vector<float> gradient(kChanging);
    bool all_zero = true;
    for (size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = residual[i] - left[i];
      residual[i] = left[i] + gradient[i];
      all_zero = all_zero && residual[i] == 0;
    }
    const Sent sent = sidco.Step(gradient);
    ++step;
    if (all_zero) {
      ASSERT_THAT(sent.indexes, IsEmpty());
      left = residual;
      continue;
    }
    const double threshold = sidco.policy->threshold(*sidco.state);
    const double expected = PlainThreshold(residual, kChanging / 100, stages, distribution);
    ASSERT_NEAR(threshold, expected, 2e-4 * expected + 1e-30) << "step " << step;
    std::vector<int64_t> reached;
    for (size_t i = 0; i < residual.size(); ++i) {
      if (std::fabs(residual[i]) >= threshold) reached.push_back(static_cast<int64_t>(i));
    }
    ASSERT_EQ(sent.indexes, reached) << "step " << step;
    left = residual;
    for (const int64_t i : reached) left[static_cast<size_t>(i)] = 0;
  }
}

TEST(Sidco, FitsTheWholeOfALayerNoLargerThanASampleHoweverItChanges) {
  for (const auto distribution : {v1::SidcoPolicy::EXPONENTIAL, v1::SidcoPolicy::PARETO}) {
    for (const int stages : {1, 2, 3, 5}) ExpectFitsOf(distribution, stages);
  }
}

// Of more elements than a sample has: near the threshold of the whole layer, and another one each
// time. Inputs, which come again in each row of 512, are of scales that differ by factors.
TEST(Sidco, FitsASampleOfALargeLayer) {
  constexpr int64_t kElements = 1'000'003;
  const std::vector<float> scales = NormalGradient(512, 9);
  std::vector<float> gradient = NormalGradient(kElements, 8);
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] *= std::exp(scales[i % 512]);
  for (const auto distribution : {v1::SidcoPolicy::EXPONENTIAL, v1::SidcoPolicy::PARETO}) {
    for (const int stages : {1, 3}) {
      const double whole = PlainThreshold(gradient, kElements / 100.0, stages, distribution);
      double last = 0;
      for (uint64_t seed = 1; seed <= 8; ++seed) {
        Selector sidco = Make(0.99, stages, kElements, distribution);
        sidco.scope.seed = seed;
        sidco.state = sidco.policy->MakeState(sidco.scope);
        sidco.Step(gradient);
        const double threshold = sidco.policy->threshold(*sidco.state);
        EXPECT_NEAR(threshold, whole, 0.05 * whole) << distribution << ", " << stages;
        EXPECT_NE(threshold, last);
        last = threshold;
      }
    }
  }
}

TEST(Sidco, FitsAllOfALargeLayerAsThePaperDoes) {
  constexpr int64_t kElements = 300'001;
  v1::PolicyRule rule;
  rule.mutable_sidco()->set_sparsity(0.99);
  rule.mutable_sidco()->set_stages(3);
  rule.mutable_sidco()->set_whole_layer(true);
  const Selector sidco(rule, MakeScope(kElements));
  const std::vector<float> gradient = NormalGradient(kElements, 8);
  sidco.Step(gradient);
  const double whole = PlainThreshold(gradient, 3001, 3, v1::SidcoPolicy::EXPONENTIAL);
  EXPECT_NEAR(sidco.policy->threshold(*sidco.state), whole, 1e-4 * whole);
}

// Of so few elements a sample may have none.
TEST(Sidco, SendsWhatAloneIsNotZeroInALargeLayer) {
  constexpr int64_t kElements = 3'000'000;
  for (const float value : {1e-5f, -std::numeric_limits<float>::infinity()}) {
    std::vector<float> gradient(kElements);
    gradient[1'234'567] = value;
    EXPECT_THAT(Make(0.99, 0, kElements).Step(gradient).indexes, ElementsAre(1'234'567));
  }
}

// Steps that select nothing, so that a policy that adapts and those of a fixed number of stages
// have the same residual, and with it the same thresholds where they have the same stages.
class StageCounter {
 public:
  StageCounter() : adapting_(Make(kSparsity, 0, kElements)) {
    for (int stages = 1; stages <= kMost; ++stages) {
      fixed_.push_back(Make(kSparsity, stages, kElements));
    }
  }

  // The stages of the next step, which is told to have sent so many.
  int Step(int64_t sent_count) {
    const float threshold = ThresholdOfStep(adapting_, sent_count);
    int found = 0;
    for (size_t i = 0; i < fixed_.size(); ++i) {
      const float fixed = ThresholdOfStep(fixed_[i], sent_count);
      if (std::fabs(fixed / threshold - 1) > 1e-5f) continue;
      EXPECT_EQ(found, 0) << "two numbers of stages have one threshold";
      found = static_cast<int>(i) + 1;
    }
    return found;
  }

 private:
  static constexpr double kSparsity = 0.99;
  static constexpr int64_t kElements = 10'000;  // of which 100 are wanted
  static constexpr int kMost = 7;               // ceil(log2(1 / 0.01))

  float ThresholdOfStep(const Selector& sidco, int64_t sent_count) const {
    const StepPlan plan = sidco.policy->BeginStep(*sidco.state, gradient_);
    sidco.policy->EndStep(*sidco.state, plan, sent_count);
    return plan.threshold.value();
  }

  const std::vector<float> gradient_ = NormalGradient(kElements, 2);
  const Selector adapting_;
  std::vector<Selector> fixed_;
};

// Algorithm 1: after every five steps a stage less above 1.2 of the wanted share, one more below
// 0.8, of at least one and at most as many as halvings lead to the share.
TEST(Sidco, AdaptsItsStagesToTheShareOfFiveSteps) {
  StageCounter counter;
  const auto stages_of_five = [&counter](const std::vector<int64_t>& counts) {
    const int stages = counter.Step(counts[0]);
    for (size_t i = 1; i < counts.size(); ++i) EXPECT_EQ(counter.Step(counts[i]), stages);
    return stages;
  };
  const auto alike = [](int64_t count) { return std::vector<int64_t>(5, count); };
  EXPECT_EQ(stages_of_five(alike(121)), 1);
  EXPECT_EQ(stages_of_five(alike(79)), 1) << "of at least one";
  EXPECT_EQ(stages_of_five(alike(80)), 2) << "too few: one more";
  EXPECT_EQ(stages_of_five(alike(120)), 2) << "80 of 100 are enough";
  EXPECT_EQ(stages_of_five({0, 0, 99, 100, 200}), 2) << "120 are not too many";
  EXPECT_EQ(stages_of_five({0, 0, 0, 601, 0}), 3) << "399 of 500 are too few";
  EXPECT_EQ(stages_of_five(alike(0)), 2) << "601 of 500 are too many";
  for (const int stages : {3, 4, 5, 6, 7, 7}) EXPECT_EQ(stages_of_five(alike(0)), stages);
  EXPECT_EQ(stages_of_five(alike(121)), 7);
  EXPECT_EQ(stages_of_five(alike(100)), 6);
}

// Each distribution of which it has the tail: magnitudes with random signs, new ones in each step.
TEST(Sidco, FindsTheWantedShareOfEachDistributionItFits) {
  for (const auto distribution : kDistributions) {
    const Selector sidco = Make(0.99, 0, 200'000, distribution);
    RandomStream random(4);
    const auto exponential = [&] { return -std::log(1 - random.NextUnit()); };
    const auto magnitude = [&] {
      if (distribution == v1::SidcoPolicy::GAMMA) return exponential() + exponential();
      if (distribution == v1::SidcoPolicy::PARETO) return std::expm1(0.1 * exponential()) / 0.1;
      return exponential();
    };
    double sent = 0;
    constexpr int kSteps = 60, kSettled = 20;
    for (int step = 0; step < kSteps; ++step) {
      std::vector<float> gradient(200'000);
      for (float& value : gradient) {
        const double size = magnitude();
        value = static_cast<float>(random.NextUnit() < 0.5 ? -size : size);
      }
      const auto count = static_cast<double>(sidco.Step(gradient).indexes.size());
      if (step >= kSettled) sent += count / 2000;
    }
    EXPECT_NEAR(sent / (kSteps - kSettled), 1, 0.35) << distribution;
  }
}

// Closed forms against the distributions they fit.
TEST(TailFit, InvertsItsDistributions) {
  RandomStream random(5);
  std::vector<float> exponential(1 << 20), pareto(1 << 20);
  for (float& value : exponential) value = static_cast<float>(-2 * std::log(1 - random.NextUnit()));
  // Generalised Pareto with xi = 0.1 and scale 1: ((1 - u)^-xi - 1) / xi.
  for (float& value : pareto) {
    value = static_cast<float>((std::pow(1 - random.NextUnit(), -0.1) - 1) / 0.1);
  }
  const auto moments = [](const std::vector<float>& values) {
    Moments all;
    for (size_t i = 0; i < values.size(); i += 4096) {
      all.Add(MomentsAbove(std::span(values).subspan(i, 4096), 0));
    }
    return all;
  };
  const double expected = -2 * std::log(0.01);
  EXPECT_NEAR(ExponentialThreshold(moments(exponential), 0, 0.01), expected, 0.05);
  EXPECT_NEAR(ParetoThreshold(moments(exponential), 0, 0.01), expected, 0.1);
  double log_sum = 0;
  for (size_t i = 0; i < exponential.size(); i += 4096) {
    log_sum += LogSum(std::span(exponential).subspan(i, 4096));
  }
  EXPECT_NEAR(GammaThreshold(moments(exponential), log_sum, 0.01), expected, 0.1);
  EXPECT_NEAR(ParetoThreshold(moments(pareto), 0, 0.01), (std::pow(0.01, -0.1) - 1) / 0.1, 0.2);
}

// Gamma of shape 2 and scale 1: its tail is (1 + x) exp(-x), its mean 2, its mean logarithm
// digamma(2), of which Minka's shape is off by less than 1.5 %.
TEST(TailFit, InvertsAGammaThatIsNoExponential) {
  const double threshold = GammaThreshold({.count = 1, .sum = 2}, 0.42278433509846713, 0.01);
  EXPECT_NEAR((1 + threshold) * std::exp(-threshold), 0.01, 0.0005);
}

TEST(TailFit, TakesEqualMagnitudes) {
  const std::vector<float> equal(100, 0.5f);
  const Moments moments = MomentsAbove(equal, 0);
  EXPECT_EQ(ParetoThreshold(moments, 0, 0.1), 0.5);
  EXPECT_NEAR(GammaThreshold(moments, LogSum(equal), 0.1), 0.5, 0.01);
}

class MagnitudeMoments : public OnEachInstructionSet {};

TEST_P(MagnitudeMoments, AreThoseOfWhatIsAboveTheBound) {
  std::vector<float> values = {0.0f, -3.0f, 1.0f, std::numeric_limits<float>::quiet_NaN(), 2.0f};
  values.resize(37);
  values.back() = -5;
  const Moments moments = MomentsAbove(values, 1);
  EXPECT_EQ(moments.count, 3);
  EXPECT_EQ(moments.sum, 10);
  EXPECT_EQ(moments.square_sum, 38);
  EXPECT_EQ(moments.least, 2);
  EXPECT_EQ(moments.largest, 5);
  EXPECT_NEAR(LogSum(values), std::log(30.0), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Targets, MagnitudeMoments, InstructionSets(), InstructionSetName);

}  // namespace
}  // namespace weir::compress

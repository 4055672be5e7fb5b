#include "common/schedule/step_times.h"

#include <gtest/gtest.h>

#include <numeric>

#include "common/schedule/schedules.h"

namespace weir::schedule {
namespace {

constexpr int64_t kCounts[] = {100, 4000, 0, 900};
constexpr double kBackward[] = {0, 2, 0.5, 3};
constexpr double kForward = 7;
constexpr Line kSelection{.base_seconds = 0.25, .each_seconds = 0.001};
constexpr MessageTimes kMessages{.of_bytes = {.base_seconds = 0.5, .each_seconds = 0.0625},
                                 .bytes_per_element = 0.02,
                                 .fixed_bytes = 16};

Costs TrueCosts(double slowdown) {
  Costs costs;
  for (size_t i = 0; i < std::size(kCounts); ++i) {
    costs.layers.push_back({.backward_seconds = kBackward[i], .element_count = kCounts[i]});
  }
  costs.selection_seconds = [](int64_t count) { return kSelection.Seconds(count); };
  costs.startup_seconds = 0.5;
  costs.element_seconds = 0.0625 * 0.02;
  costs.fixed_message_seconds = 1;
  costs.forward_seconds = kForward;
  costs.sending_slowdown = slowdown;
  return costs;
}

// What a run with these costs measures of a step. Layers that nothing is sent beside are as fast as
// they are; the first is told with the forward pass.
MeasuredStep StepOf(const Costs& costs, bool is_single, double seconds) {
  MeasuredStep step{.is_single = is_single, .layer_seconds = {}, .selections = {}};
  Clocks clocks{.computed = costs.forward_seconds};
  int64_t waiting = 0;
  for (const Layer& layer : costs.layers) {
    const double begin = clocks.computed;
    clocks = After(clocks, {.backward_seconds = layer.backward_seconds}, costs.sending_slowdown);
    step.layer_seconds.push_back(clocks.computed - begin);
    waiting += layer.element_count;
    if (is_single || layer.element_count == 0) continue;
    Push push = PushOf(costs, 0, std::exchange(waiting, 0));
    step.selections.push_back({push.element_count, push.selection_seconds});
    clocks = After(clocks, push, 1);
  }
  if (is_single) step.selections.push_back({waiting, costs.selection_seconds(waiting)});
  step.seconds = seconds;
  return step;
}

StepTimes Measured(const Costs& costs, double single_seconds) {
  StepTimes times({std::begin(kCounts), std::end(kCounts)});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(times.wants_single());
    times.Add(StepOf(costs, true, single_seconds));
    EXPECT_FALSE(times.wants_single());
    times.Add(StepOf(costs, false, single_seconds));
  }
  EXPECT_EQ(times.count(), 3u);
  return times;
}

void ExpectCosts(const Costs& fit, const Costs& costs) {
  EXPECT_NEAR(fit.forward_seconds, costs.forward_seconds, 1e-9);
  for (size_t i = 0; i < std::size(kCounts); ++i) {
    EXPECT_NEAR(fit.layers[i].backward_seconds, kBackward[i], 1e-9);
    EXPECT_EQ(fit.layers[i].element_count, kCounts[i]);
  }
  for (const int64_t count : {1, 5000}) {
    EXPECT_NEAR(fit.selection_seconds(count), kSelection.Seconds(count), 1e-9);
  }
  EXPECT_NEAR(fit.startup_seconds, costs.startup_seconds, 1e-9);
  EXPECT_NEAR(fit.element_seconds, costs.element_seconds, 1e-9);
  EXPECT_NEAR(fit.fixed_message_seconds, costs.fixed_message_seconds, 1e-9);
}

TEST(StepTimes, GiveTheCostsOfARunThatWaitsForItsMessages) {
  const Costs costs = TrueCosts(1);
  const double seconds = TimesOf(costs, Single(costs)).step_seconds;
  const Costs fit = Measured(costs, seconds).Fit(kMessages, Objective::kStep);
  ExpectCosts(fit, costs);
  EXPECT_NEAR(fit.sending_slowdown, 1, 1e-9);
  EXPECT_NEAR(TimesOf(fit, Single(fit)).step_seconds, seconds, 1e-9);
}

// A step of the thread takes what it computes then, and what that loses beside messages.
TEST(StepTimes, GiveTheCostsOfARunThatDoesNotWait) {
  for (const double slowdown : {1.0, 1.5}) {
    Costs costs = TrueCosts(slowdown);
    costs.startup_seconds = 100;
    MessageTimes messages = kMessages;
    messages.of_bytes.base_seconds = 100;
    const double computed = kForward +
                            std::accumulate(std::begin(kBackward), std::end(kBackward), 0.0) +
                            kSelection.Seconds(5000);
    const double sent = PushOf(costs, 0, 5000).message_seconds + costs.fixed_message_seconds;
    const double seconds = computed + (1 - 1 / slowdown) * sent;
    const Costs fit = Measured(costs, seconds).Fit(messages, Objective::kPeriod);
    ExpectCosts(fit, costs);
    EXPECT_NEAR(fit.sending_slowdown, slowdown, 1e-9);
  }
}

// All layers behind the first are computed while messages are under way.
TEST(StepTimes, TellHowMuchSlowerComputingIsBesideSending) {
  Costs costs = TrueCosts(1.5);
  costs.startup_seconds = 100;
  MessageTimes messages = kMessages;
  messages.of_bytes.base_seconds = 100;
  const Costs fit = Measured(costs, 1000).Fit(messages, Objective::kStep);
  EXPECT_NEAR(fit.sending_slowdown, 1.5, 1e-9);
}

TEST(StepTimes, ASlowdownIsAtLeastOneAndBounded) {
  for (const auto& [beside, expected] : {std::pair{0.5, 1.0}, {1000.0, 4.0}}) {
    StepTimes times({10, 10});
    times.Add({.is_single = true, .layer_seconds = {1, 1}, .selections = {}, .seconds = 5});
    times.Add({.is_single = false, .layer_seconds = {1, beside}, .selections = {}, .seconds = 5});
    MessageTimes messages{.of_bytes = {.base_seconds = 1e4}};
    EXPECT_NEAR(times.Fit(messages, Objective::kStep).sending_slowdown, expected, 1e-9);
  }
}

TEST(StepTimes, AStepThatIsShorterThanItsPartsLeavesNothingForTheForwardPass) {
  const Costs costs = TrueCosts(1);
  EXPECT_EQ(Measured(costs, 0.1).Fit(kMessages, Objective::kStep).forward_seconds, 0);
}

TEST(TypicalSeconds, IsTheMeanWithoutWhatCameBetweenOrTheMedian) {
  for (const Objective objective : {Objective::kStep, Objective::kPeriod}) {
    EXPECT_EQ(TypicalSeconds({}, objective), 0);
    EXPECT_EQ(TypicalSeconds({3}, objective), 3);
  }
  EXPECT_EQ(TypicalSeconds({1, 2, 6}, Objective::kPeriod), 3);
  EXPECT_EQ(TypicalSeconds({1, 2, 6, 500}, Objective::kPeriod), 3);
  EXPECT_EQ(TypicalSeconds({500, 2, 6, 1, 1}, Objective::kStep), 2);
}

}  // namespace
}  // namespace weir::schedule

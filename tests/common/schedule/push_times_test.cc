#include "common/schedule/push_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/common/schedule/schedule_costs.h"

namespace weir::schedule {
namespace {

double StepOf(const Costs& costs, const Groups& groups) {
  return TimesOf(costs, groups).step_seconds;
}

TEST(PushTimes, OfThreeEqualLayersAreThoseByHand) {
  for (const Groups& groups : AllGroups(3)) {
    EXPECT_EQ(StepOf(EqualLayers(3, 0.5), groups), 3.5);
  }
  const Costs two = EqualLayers(3, 2);
  EXPECT_EQ(StepOf(two, {3}), 5);
  EXPECT_EQ(StepOf(two, {1, 2}), 5);
  EXPECT_EQ(StepOf(two, {2, 1}), 6);
  EXPECT_EQ(StepOf(two, {1, 1, 1}), 7);
  EXPECT_EQ(StepOf(EqualLayers(3, 4), {3}), 7);
}

TEST(PushTimes, SelectionDelaysTheLayersBehindIt) {
  const Costs costs = CounterExample();
  EXPECT_EQ(StepOf(costs, {1, 2}), 20);
  EXPECT_NEAR(StepOf(costs, {2, 1}), 24.9387, 5e-5);
}

TEST(PushTimes, BeginWithTheForwardPass) {
  Costs costs = EqualLayers(3, 2);
  costs.forward_seconds = 10;
  EXPECT_EQ(StepOf(costs, {1, 2}), 15);
  EXPECT_EQ(TimesOf(costs, {1, 2}).period_seconds, 13);
}

TEST(PushTimes, APeriodIsTheLongerOfComputingAndSending) {
  EXPECT_EQ(TimesOf(EqualLayers(3, 0.5), {1, 1, 1}).period_seconds, 3);
  EXPECT_EQ(TimesOf(EqualLayers(3, 4), {1, 1, 1}).period_seconds, 12);
  EXPECT_EQ(TimesOf(EqualLayers(3, 4), {3}).period_seconds, 4);
}

// Layers of 1 s, messages of 1.5 s, and half the speed while one is sent. The first message lasts
// from 1 to 2.5 and the second layer all the while, with a quarter left: it is computed at 2.75.
// Its message lasts until 4.25, with three quarters of the third layer computed, the last until 6.
TEST(PushTimes, WhatComputesIsSlowWhileSomethingIsSent) {
  Costs costs = EqualLayers(3, 1.5);
  costs.sending_slowdown = 2;
  EXPECT_EQ(StepOf(costs, {1, 1, 1}), 6);
  costs.startup_seconds = 2;  // 1 to 3 and the second layer just as long, then until 5
  EXPECT_EQ(StepOf(costs, {1, 1, 1}), 7);
  costs.startup_seconds = 4;  // 1 to 5, with all layers computed in it
  EXPECT_EQ(StepOf(costs, {1, 1, 1}), 13);
}

// What the period claims of many steps, by following them.
TEST(PushTimes, APeriodIsWhatManyStepsTakeInTheLongRun) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Costs costs = RandomCosts(seed);
    const Groups groups(costs.layers.size(), 1);
    constexpr int kSteps = 1000;  // after as many
    Clocks clocks;
    double half = 0;
    for (int step = 0; step < 2 * kSteps; ++step) {
      if (step == kSteps) half = std::max(clocks.computed, clocks.sent);
      clocks = After(clocks, {.backward_seconds = costs.forward_seconds}, costs.sending_slowdown);
      for (const Layer& layer : costs.layers) {
        const Push push = PushOf(costs, layer.backward_seconds, layer.element_count);
        clocks = After(clocks, push, costs.sending_slowdown);
      }
      clocks.sent = std::max(clocks.computed, clocks.sent) + costs.fixed_message_seconds;
    }
    const double period = (std::max(clocks.computed, clocks.sent) - half) / kSteps;
    EXPECT_NEAR(period / TimesOf(costs, groups).period_seconds, 1, 1e-2) << "seed " << seed;
  }
}

TEST(PushTimes, NothingIsSentOfLayersWithoutElements) {
  Costs costs{.layers = {{1, 0}, {1, 0}}, .startup_seconds = 100};
  costs.selection_seconds = SortSeconds(1);  // 0 * log2 0 is no number
  EXPECT_EQ(StepOf(costs, {1, 1}), 2);
  EXPECT_EQ(TimesOf(costs, {2}).period_seconds, 2);
  costs.layers[0].element_count = 1;
  EXPECT_EQ(StepOf(costs, {1, 1}), 101);
}

TEST(PushTimes, OfNoLayersAreThoseOfTheForwardPass) {
  EXPECT_EQ(StepOf({}, {}), 0);
  EXPECT_EQ(StepOf({.forward_seconds = 2}, {}), 2);
  EXPECT_EQ(TimesOf({.forward_seconds = 2}, {}).period_seconds, 2);
}

TEST(PushTimes, AreNumbersForHugeAndTinyCosts) {
  constexpr double kTiny = 1e-308, kHuge = 1e308;
  for (const double startup : {0.0, kTiny, kHuge}) {
    for (const double element : {0.0, kTiny, kHuge}) {
      for (const double slowdown : {1.0, 1 + 1e-15, kHuge}) {
        const Costs costs{.layers = {{0, 1}, {kTiny, 1 << 30}, {kHuge, 0}, {kHuge, 3}},
                          .selection_seconds = SortSeconds(kHuge),
                          .startup_seconds = startup,
                          .element_seconds = element,
                          .sending_slowdown = slowdown};
        for (const Groups& groups : AllGroups(4)) {
          EXPECT_FALSE(std::isnan(TimesOf(costs, groups).step_seconds));
          EXPECT_FALSE(std::isnan(TimesOf(costs, groups).period_seconds));
        }
      }
    }
  }
}

TEST(PushTimesDeath, RefusesGroupsOfOtherLayersAndCostsThatAreNone) {
  EXPECT_DEATH(TimesOf(EqualLayers(3, 1), {1, 1}), "layer_count");
  EXPECT_DEATH(TimesOf(EqualLayers(3, 1), {3, 0}), "count > 0");
  EXPECT_DEATH(TimesOf(EqualLayers(3, -1), {3}), "start of a message: -1");
  EXPECT_DEATH(TimesOf({.sending_slowdown = 0.5}, {}), "0.5");
}

// Rows leave with the last layers; they end a step later, and weigh on the period.
TEST(PushTimes, TheLastMessageHasWhatIsThereWhateverTheGroupsAre) {
  Costs costs = EqualLayers(3, 2);
  const PushTimes before = TimesOf(costs, {1, 2});
  costs.fixed_message_seconds = 10;
  const PushTimes after = TimesOf(costs, {1, 2});
  EXPECT_EQ(after.step_seconds, before.step_seconds + 10);
  EXPECT_EQ(after.period_seconds, 2 * 2 + 10);
}

}  // namespace
}  // namespace weir::schedule

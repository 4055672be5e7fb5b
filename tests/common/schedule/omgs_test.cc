#include "common/schedule/omgs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/schedule/schedules.h"
#include "tests/common/schedule/period_costs.h"
#include "tests/common/schedule/schedule_costs.h"

namespace weir::schedule {
namespace {

constexpr Objective kObjectives[] = {Objective::kStep, Objective::kPeriod};

// The best of all groupings: for kPeriod, the least step among those of the least period.
PushTimes BestOfAll(const Costs& costs, Objective objective) {
  std::vector<PushTimes> all;
  for (const Groups& groups : AllGroups(costs.layers.size())) {
    all.push_back(TimesOf(costs, groups));
  }
  double limit = std::numeric_limits<double>::infinity();
  if (objective == Objective::kPeriod) {
    for (const PushTimes& times : all) limit = std::min(limit, times.period_seconds);
    limit *= 1 + 1e-10;
  }
  PushTimes best{.step_seconds = std::numeric_limits<double>::infinity()};
  for (const PushTimes& times : all) {
    if (times.period_seconds <= limit && times.step_seconds < best.step_seconds) best = times;
  }
  return best;
}

PushTimes PlannedTimes(const Costs& costs, Objective objective) {
  return TimesOf(costs, Omgs(costs, objective).groups);
}

void ExpectBestOfAll(const Costs& costs, uint64_t seed) {
  for (const Objective objective : kObjectives) {
    const PushTimes best = BestOfAll(costs, objective), planned = PlannedTimes(costs, objective);
    EXPECT_NEAR(planned.step_seconds, best.step_seconds, 1e-9 * best.step_seconds)
        << "seed " << seed;
    if (objective == Objective::kPeriod) {
      EXPECT_NEAR(planned.period_seconds, best.period_seconds, 1e-9 * best.period_seconds)
          << "seed " << seed;
    }
  }
}

TEST(Omgs, GroupsThreeEqualLayersAsByHand) {
  for (const auto& [startup, step] : {std::pair{0.5, 3.5}, {2.0, 5.0}, {4.0, 7.0}}) {
    EXPECT_EQ(PlannedTimes(EqualLayers(3, startup), Objective::kStep).step_seconds, step);
  }
  EXPECT_EQ(Omgs(EqualLayers(3, 4), Objective::kStep).groups, Groups{3});
}

TEST(Omgs, FindsWhatThePapersAlgorithmMisses) {
  const Costs costs = CounterExample();
  EXPECT_EQ(Omgs(costs, Objective::kStep).groups, (Groups{1, 2}));
  EXPECT_EQ(PlannedTimes(costs, Objective::kStep).step_seconds, 20);
}

TEST(Omgs, IsTheBestOfAllGroupings) {
  for (uint64_t seed = 0; seed < 300; ++seed) ExpectBestOfAll(RandomCosts(seed), seed);
}

TEST(Omgs, IsTheBestOfAllGroupingsWhereManyTie) {
  for (uint64_t seed = 0; seed < 300; ++seed) ExpectBestOfAll(RandomEighths(seed), seed);
}

TEST(Omgs, IsTheBestOfAllGroupingsWhereThePeriodAllowsSome) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    ExpectBestOfAll(CostsWithRoomForFewMessages(seed), seed);
    ExpectBestOfAll(CostsWithRoomForFastSelection(seed), seed);
  }
}

TEST(Omgs, IsNeverWorseThanAnyOtherSchedule) {
  int greedy_missed = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Costs costs = RandomCosts(seed);
    const double step = PlannedTimes(costs, Objective::kStep).step_seconds * (1 - 1e-9);
    const double period = PlannedTimes(costs, Objective::kPeriod).period_seconds * (1 - 1e-9);
    for (const Groups& groups : {Immediate(costs), Single(costs), ByBytes(costs, 32),
                                 OmgsGreedy(costs), Omgs(costs, Objective::kPeriod).groups}) {
      EXPECT_LE(step, TimesOf(costs, groups).step_seconds) << "seed " << seed;
      EXPECT_LE(period, TimesOf(costs, groups).period_seconds) << "seed " << seed;
    }
    greedy_missed += TimesOf(costs, OmgsGreedy(costs)).step_seconds > step * (1 + 1e-6);
  }
  EXPECT_GT(greedy_missed, 0);  // or the instances say nothing
}

// Selection in proportion to elements, and messages that are no bottleneck: every grouping has the
// same period, and the earliest end decides.
TEST(Omgs, SendsEarlyWhereThePeriodIsTheSame) {
  Costs costs = EqualLayers(3, 0.25);
  costs.element_seconds = 0.125;
  costs.selection_seconds = LinearSeconds(0, 0.1);
  EXPECT_EQ(PlannedTimes(costs, Objective::kPeriod).step_seconds,
            PlannedTimes(costs, Objective::kStep).step_seconds);
  costs.startup_seconds =
      2;  // two starts fit in a period of 4.2 s with 1.5 s of elements, not three
  EXPECT_LT(Omgs(costs, Objective::kPeriod).groups.size(), 3u);
}

TEST(Omgs, PaysNoMoreMessagesThanThePeriodHasTimeFor) {
  Costs costs = EqualLayers(3, 1);
  costs.element_seconds = 0.5;
  EXPECT_EQ(Omgs(costs, Objective::kStep).groups, (Groups{1, 2}));  // 9 s, every 8; not 10, every 7
  EXPECT_EQ(Omgs(costs, Objective::kPeriod).groups, Groups{3});
}

TEST(Omgs, OfNoLayerIsEmptyAndOfOneIsOne) {
  for (const Objective objective : kObjectives) {
    EXPECT_EQ(Omgs({}, objective).groups, Groups{});
    EXPECT_EQ(Omgs(EqualLayers(1, 1), objective).groups, Groups{1});
  }
}

TEST(Omgs, GroupsLayersThatCostNothing) {
  for (const Objective objective : kObjectives) {
    for (const int64_t element_count : {0, 5}) {
      const Costs costs{.layers = std::vector<Layer>(20, {0, element_count})};
      EXPECT_EQ(PlannedTimes(costs, objective).step_seconds, 0);
      EXPECT_EQ(Omgs(costs, objective).largest_set, 1u);
    }
  }
}

TEST(Omgs, PlansWithHugeAndTinyCosts) {
  for (const Objective objective : kObjectives) {
    for (const double scale : {1e-300, 1e-100, 1e100, 1e290, 1e307}) {
      Costs costs = RandomCosts(2);
      for (Layer& layer : costs.layers) layer.backward_seconds *= scale;
      costs.startup_seconds = scale;
      const auto whole = costs.selection_seconds;
      for (const double selection_scale : {0.0, 1e-300, scale}) {
        costs.selection_seconds = [=](int64_t count) { return selection_scale * whole(count); };
        const Groups groups = Omgs(costs, objective).groups;
        EXPECT_EQ(std::accumulate(groups.begin(), groups.end(), size_t{0}), costs.layers.size());
        EXPECT_FALSE(std::isnan(TimesOf(costs, groups).step_seconds));
      }
    }
  }
}

// Of a deep network: sizes over four decades, as its layers have.
Costs DeepCosts(int layer_count, double startup_seconds, bool sorts) {
  RandomStream random(1);
  Costs costs;
  for (int i = 0; i < layer_count; ++i) {
    const double seconds = 1e-3 * random.NextUnit() * random.NextUnit();
    const double elements = std::pow(10, 2 + 4.5 * random.NextUnit());
    costs.layers.push_back({seconds, static_cast<int64_t>(elements)});
  }
  costs.selection_seconds = sorts ? SortSeconds(2e-10) : LinearSeconds(2e-5, 2e-10);
  costs.startup_seconds = startup_seconds;
  costs.element_seconds = 1e-9;
  return costs;
}

TEST(Omgs, KeepsFewBeginningsOfManyLayers) {
  for (const Objective objective : kObjectives) {
    for (const double startup : {1e-5, 1e-4, 1e-3, 5e-3}) {
      for (const bool sorts : {false, true}) {
        const size_t largest = Omgs(DeepCosts(160, startup, sorts), objective).largest_set;
        EXPECT_LE(largest, 500u) << startup << ' ' << sorts;
        Costs slowed = DeepCosts(40, startup, sorts);
        slowed.sending_slowdown = 1.5;
        EXPECT_LE(Omgs(slowed, objective).largest_set, 1000u) << startup << ' ' << sorts;
      }
    }
  }
}

}  // namespace
}  // namespace weir::schedule

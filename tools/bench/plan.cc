// What it takes to plan the pushes of a deep network: a worker does it once, between two steps.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/strings.h"
#include "common/schedule/omgs.h"
#include "common/schedule/schedules.h"
#include "tools/bench/measure.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr int kLayers = 160;
constexpr double kGoalMs = 50;

// Sizes over four decades, as the layers of such a network have.
schedule::Costs DeepCosts(double startup_seconds) {
  RandomStream random(1);
  schedule::Costs costs;
  for (int i = 0; i < kLayers; ++i) {
    const double seconds = 1e-3 * random.NextUnit() * random.NextUnit();
    const double elements = std::pow(10, 2 + 4.5 * random.NextUnit());
    costs.layers.push_back({seconds, static_cast<int64_t>(elements)});
  }
  costs.selection_seconds = [](int64_t count) { return 2e-5 + 2e-10 * static_cast<double>(count); };
  costs.startup_seconds = startup_seconds;
  costs.element_seconds = 1e-9;
  return costs;
}

struct Case {
  const char* name;
  schedule::Objective objective;
  double startup_seconds;
};
constexpr Case kCases[] = {{"step/startup_100us", schedule::Objective::kStep, 1e-4},
                           {"step/startup_5ms", schedule::Objective::kStep, 5e-3},
                           {"period/startup_100us", schedule::Objective::kPeriod, 1e-4},
                           {"period/startup_5ms", schedule::Objective::kPeriod, 5e-3}};

Status CheckNotWorse(const schedule::Costs& costs, const schedule::Groups& groups) {
  const double planned = TimesOf(costs, groups).step_seconds;
  for (const auto& other :
       {schedule::Single(costs), schedule::Immediate(costs), schedule::OmgsGreedy(costs)}) {
    if (planned <= TimesOf(costs, other).step_seconds * (1 + 1e-9)) continue;
    return Internal("another schedule takes less time than the best one");
  }
  return OkStatus();
}

}  // namespace

Result<Lines> BenchPlan(const Options& options) {
  Lines lines;
  for (const Case& one : kCases) {
    const schedule::Costs costs = DeepCosts(one.startup_seconds);
    schedule::Plan plan;
    const double seconds =
        MedianSeconds(options.repeats, {[&] { plan = schedule::Omgs(costs, one.objective); }})[0];
    if (one.objective == schedule::Objective::kStep) {
      WEIR_RETURN_IF_ERROR(CheckNotWorse(costs, plan.groups));
    }
    lines.push_back({.name = StrCat("plan/", kLayers, "_layers/", one.name),
                     .value = 1e3 * seconds,
                     .unit = "ms",
                     .peer = "the goal",
                     .peer_value = kGoalMs,
                     .goal = 1,
                     .better = Better::kLess});
  }
  return lines;
}

}  // namespace weir::bench

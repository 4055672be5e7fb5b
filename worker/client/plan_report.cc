#include "worker/client/plan_report.h"

#include <numeric>

#include "common/base/strings.h"
#include "common/schedule/schedules.h"

namespace weir::worker {
namespace {

constexpr int64_t kMillion = 1'000'000;

double Predicted(const schedule::Costs& costs, const schedule::Groups& groups,
                 schedule::Objective objective) {
  const schedule::PushTimes times = schedule::TimesOf(costs, groups);
  return objective == schedule::Objective::kStep ? times.step_seconds : times.period_seconds;
}

// "3 + 2 + 1"
std::string SumOf(const schedule::Groups& groups) {
  std::string sum;
  for (const int count : groups) sum += StrCat(sum.empty() ? "" : " + ", count);
  return sum;
}

}  // namespace

v1::SchedulePlanReport PlanReport(const schedule::Costs& costs, const schedule::Groups& groups,
                                  schedule::Objective objective) {
  v1::SchedulePlanReport plan;
  plan.mutable_groups()->Add(groups.begin(), groups.end());
  plan.set_predicted_seconds(Predicted(costs, groups, objective));
  plan.set_forward_seconds(costs.forward_seconds);
  for (const schedule::Layer& layer : costs.layers) {
    plan.add_backward_seconds(layer.backward_seconds);
    plan.add_elements(layer.element_count);
  }
  const double base = costs.selection_seconds(0);
  plan.set_selection_base_seconds(base);
  plan.set_selection_element_seconds((costs.selection_seconds(kMillion) - base) / kMillion);
  plan.set_message_startup_seconds(costs.startup_seconds);
  plan.set_message_element_seconds(costs.element_seconds);
  plan.set_message_fixed_seconds(costs.fixed_message_seconds);
  plan.set_sending_slowdown(costs.sending_slowdown);
  return plan;
}

std::string PlanInWords(const schedule::Costs& costs, const schedule::Groups& groups,
                        schedule::Objective objective) {
  const auto predicted = [&](const schedule::Groups& of) {
    return Milliseconds(Predicted(costs, of, objective));
  };
  return StrCat("pushes of ", SumOf(groups), " layers, in backward order; ", predicted(groups),
                " a step, predicted; all at once ", predicted(schedule::Single(costs)),
                ", each by itself ", predicted(schedule::Immediate(costs)));
}

std::string CostsInWords(const v1::SchedulePlanReport& plan) {
  const double backward =
      std::accumulate(plan.backward_seconds().begin(), plan.backward_seconds().end(), 0.0);
  return StrCat(
      "before the first layer is whole ", Milliseconds(plan.forward_seconds()), ", behind it ",
      Milliseconds(backward), "; selection ", Milliseconds(plan.selection_base_seconds()), " and ",
      Milliseconds(plan.selection_element_seconds() * kMillion), " a million elements; a message ",
      Milliseconds(plan.message_startup_seconds()), " and ",
      Milliseconds(plan.message_element_seconds() * kMillion), " a million elements, the rows' ",
      Milliseconds(plan.message_fixed_seconds()), "; computing slower by ",
      Format("%.2f", plan.sending_slowdown()), " while something is sent");
}

std::string Milliseconds(double seconds) {
  return seconds < 1 ? Format("%.3g ms", seconds * 1e3) : Format("%.0f ms", seconds * 1e3);
}

}  // namespace weir::worker

#include "worker/client/push_schedule.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/schedule/schedules.h"
#include "common/schedule/step_times.h"
#include "worker/client/plan_report.h"
#include "worker/link/message_times.h"

namespace weir::worker {
namespace {

// 0: it looks at no times.
size_t MeasuredSteps(const v1::ScheduleConfig& schedule) {
  if (schedule.has_omgs()) return static_cast<size_t>(schedule.omgs().measured_steps());
  if (schedule.has_omgs_greedy())
    return static_cast<size_t>(schedule.omgs_greedy().measured_steps());
  return 0;
}

// On a device with memory of its own layers are selected from all at once.
bool MayLeaveInParts(const v1::ScheduleConfig& schedule, const schedule::Costs& layers,
                     const device::Device& device) {
  if (schedule.has_single() || layers.layers.empty()) return false;
  const bool all_agree = std::ranges::all_of(
      layers.layers, [](const schedule::Layer& layer) { return layer.element_count == 0; });
  if (device.is_host() && !all_agree) return true;
  LOG(WARNING) << "all layers of a step leave together, whatever `schedule` says: "
               << (all_agree ? "their policies agree with other trainers on what is sent"
                             : "they are on " + device.name());
  return false;
}

schedule::Objective ObjectiveOf(const v1::Config& config) {
  return config.consistency().has_sync() || config.cluster().window() == 1
             ? schedule::Objective::kStep
             : schedule::Objective::kPeriod;
}

// Layers that agree with other trainers leave at the end, and are none of a push in parts.
schedule::Costs LayersAlone(const ModelLayout& layout, const StageSpec& stage,
                            const StepEncoder& encoder) {
  schedule::Costs costs = LayersOf(layout, stage);
  for (schedule::Layer& layer : costs.layers) layer.element_count = 0;
  for (const LayerEncoder* const tensor : encoder.alone()) {
    const size_t layer = BackwardIndex(stage, tensor->tensor().id);
    costs.layers[layer].element_count += tensor->tensor().element_count();
  }
  return costs;
}

}  // namespace

PushSchedule::PushSchedule(const v1::Config& config, const ModelLayout& layout,
                           const StageSpec& stage, const device::Device& device,
                           const StepEncoder& encoder)
    : config_(config.schedule()),
      stage_(stage),
      objective_(ObjectiveOf(config)),
      layers_(LayersAlone(layout, stage, encoder)),
      measured_steps_(MeasuredSteps(config.schedule())),
      single_(std::make_shared<PartPlan>(MakePartPlan(stage, layers_, schedule::Single(layers_)))),
      immediate_(
          std::make_shared<PartPlan>(MakePartPlan(stage, layers_, schedule::Immediate(layers_)))),
      measures_(false),
      measured_(layers_.layers) {
  const bool in_parts = MayLeaveInParts(config_, layers_, device);
  measures_ = in_parts && measured_steps_ > 0;
  if (!in_parts || measures_) return;
  plan_ = std::make_shared<PartPlan>(
      MakePartPlan(stage, LayersOf(layout, stage), GroupsOf(config_, LayersOf(layout, stage))));
}

std::shared_ptr<const PartPlan> PushSchedule::Begin() const {
  std::lock_guard lock(mutex_);
  if (!measures()) return plan_ == nullptr || plan_->is_single() ? nullptr : plan_;
  if (plan_ != nullptr) return plan_;
  return phase_ == Phase::kMeasures && measured_.wants_single() ? single_ : immediate_;
}

Status PushSchedule::End(MeasuredPush push, ServerLink* link) {
  return IsComplete(std::move(push)) ? MakePlan(link) : OkStatus();
}

// True for one push of the run.
bool PushSchedule::IsComplete(MeasuredPush push) {
  std::lock_guard lock(mutex_);
  if (!push.follows_its_kind) return false;
  switch (phase_) {
    case Phase::kWarmsUp:
      if (++warm_up_steps_ >= measured_steps_) phase_ = Phase::kMeasures;
      return false;
    case Phase::kMeasures:
      measured_.Add(std::move(push));
      if (measured_.count() < measured_steps_) return false;
      phase_ = Phase::kPlans;
      return true;
    case Phase::kChecks:
      Check(push.seconds_since_push);
      return false;
    default:
      return false;
  }
}

Status PushSchedule::MakePlan(ServerLink* link) {
  std::vector<int64_t> bytes;
  {
    std::lock_guard lock(mutex_);
    bytes = measured_.LayerBytes();
  }
  WEIR_ASSIGN_OR_RETURN(const auto messages, MeasureMessages(bytes, link));
  std::lock_guard lock(mutex_);
  const schedule::Costs costs = measured_.Fit(schedule::FitMedians(messages), objective_);
  Adopt(costs, config_.has_omgs() ? schedule::Omgs(costs, objective_).groups
                                  : schedule::OmgsGreedy(costs));
  return OkStatus();
}

void PushSchedule::Adopt(const schedule::Costs& costs, const schedule::Groups& groups) {
  const auto predicted = [&](const schedule::Groups& of) {
    const schedule::PushTimes times = schedule::TimesOf(costs, of);
    return objective_ == schedule::Objective::kStep ? times.step_seconds : times.period_seconds;
  };
  plan_ = std::make_shared<PartPlan>(MakePartPlan(stage_, layers_, groups));
  phase_ = Phase::kChecks;
  report_ = PlanReport(costs, groups);
  report_.set_schedule(config_.has_omgs() ? "omgs" : "omgs_greedy");
  report_.set_predicted_seconds(predicted(groups));
  LOG(INFO) << "schedule." << report_.schedule() << ": pushes of " << GroupNames(groups)
            << " layers, in backward order; " << Milliseconds(predicted(groups))
            << " a step, predicted; all at once "
            << Milliseconds(predicted(schedule::Single(costs))) << ", each by itself "
            << Milliseconds(predicted(schedule::Immediate(costs)));
  LOG(INFO) << "schedule." << report_.schedule() << ": it goes by " << CostNames(report_);
}

void PushSchedule::Check(double seconds) {
  checked_seconds_.push_back(seconds);
  if (checked_seconds_.size() < measured_steps_) return;
  report_.set_measured_seconds(schedule::TypicalSeconds(checked_seconds_, objective_));
  phase_ = Phase::kIsDone;
  measures_ = false;
  LOG(INFO) << "schedule." << report_.schedule() << ": " << Milliseconds(report_.measured_seconds())
            << " a step, measured since; " << Milliseconds(report_.predicted_seconds())
            << " predicted";
}

void PushSchedule::FillReport(v1::WorkerReport* report) const {
  std::lock_guard lock(mutex_);
  if (report_.groups_size() > 0) *report->mutable_schedule_plan() = report_;
}

}  // namespace weir::worker

#include "worker/client/push_schedule.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/schedule/schedules.h"
#include "common/schedule/step_times.h"
#include "worker/client/plan_report.h"
#include "worker/link/message_times.h"

namespace weir::worker {
namespace {

// 0: it looks at no times.
size_t MeasuredSteps(const v1::ScheduleConfig& schedule) {
  if (schedule.has_omgs()) return static_cast<size_t>(schedule.omgs().measured_steps());
  return static_cast<size_t>(schedule.omgs_greedy().measured_steps());
}

// Why all layers leave together, whatever the config says; empty: they need not.
std::string WhyTogether(const schedule::Costs& layers, bool is_whole_model,
                        const device::Device& device) {
  const auto leaves = [](const schedule::Layer& layer) { return layer.element_count > 0; };
  if (!is_whole_model) return "this worker has a stage of the model";
  if (!device.is_host()) return StrCat("they are on ", device.name());
  if (layers.layers.size() < 2) return "there are no two of them";
  if (std::ranges::none_of(layers.layers, leaves)) {
    return "their policies choose from all of them at once";
  }
  return "";
}

bool MayLeaveInParts(const v1::ScheduleConfig& schedule, const std::string& why_together) {
  if (schedule.has_single() || why_together.empty()) return !schedule.has_single();
  LOG(WARNING) << "all layers of a step leave together, whatever `schedule` says: " << why_together;
  return false;
}

// Pushes without a measurement among them until it is given up: with few credits for many threads
// no step may ever begin with one.
constexpr size_t kPatience = 100;

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
                           const StageSpec& stage, bool is_whole_model,
                           const device::Device& device, const StepEncoder& encoder)
    : config_(config.schedule()),
      stage_(stage),
      always_waits_(config.consistency().has_sync() || config.cluster().window() == 1),
      layers_(LayersAlone(layout, stage, encoder)),
      measured_steps_(MeasuredSteps(config.schedule())),
      single_(std::make_shared<PartPlan>(MakePartPlan(stage, layers_, schedule::Single(layers_)))),
      immediate_(
          std::make_shared<PartPlan>(MakePartPlan(stage, layers_, schedule::Immediate(layers_)))),
      measures_(false),
      measured_(layers_.layers) {
  if (!MayLeaveInParts(config_, WhyTogether(layers_, is_whole_model, device))) return;
  if (measured_steps_ > 0) {
    BeginMeasuring(always_waits_ ? schedule::Objective::kStep : schedule::Objective::kPeriod);
  } else {
    const schedule::Costs all = LayersOf(layout, stage);
    plan_ = std::make_shared<PartPlan>(MakePartPlan(stage, all, GroupsOf(config_, all)));
  }
}

void PushSchedule::BeginMeasuring(schedule::Objective objective) {
  objective_ = objective;
  measured_ = MeasuredPushes(layers_.layers);
  checked_seconds_.clear();
  SetPhase(Phase::kWarmsUp);
  measures_ = true;
}

void PushSchedule::SetPhase(Phase phase) {
  phase_ = phase;
  pushes_ = 0;
}

// What was measured of the other kind of steps says nothing of these.
void PushSchedule::SetWaits(bool waits) {
  const schedule::Objective objective =
      waits || always_waits_ ? schedule::Objective::kStep : schedule::Objective::kPeriod;
  MutexLock lock(mutex_);
  if (objective == objective_ || (plan_ == nullptr && !measures())) return;
  if (measured_steps_ > 0) BeginMeasuring(objective);
}

std::shared_ptr<const PartPlan> PushSchedule::Begin() const {
  MutexLock lock(mutex_);
  if (!measures()) return plan_ == nullptr || plan_->is_single() ? nullptr : plan_;
  if (phase_ == Phase::kMeasures && measured_.wants_single()) return single_;
  return phase_ == Phase::kMeasures || plan_ == nullptr ? immediate_ : plan_;
}

Status PushSchedule::End(std::optional<MeasuredPush> push, ServerLink* link) {
  return IsComplete(std::move(push)) ? MakePlan(link) : OkStatus();
}

// True for one push, until it is all done again.
bool PushSchedule::IsComplete(std::optional<MeasuredPush> push) {
  MutexLock lock(mutex_);
  if (phase_ <= Phase::kMeasures && ++pushes_ > kPatience * measured_steps_) GiveUp();
  if (!push || !push->follows_its_kind) return false;
  switch (phase_) {
    case Phase::kWarmsUp:
      if (pushes_ >= measured_steps_) SetPhase(Phase::kMeasures);
      return false;
    case Phase::kMeasures:
      measured_.Add(*std::move(push));
      if (measured_.count() < measured_steps_) return false;
      SetPhase(Phase::kPlans);
      return true;
    case Phase::kChecks:
      Check(push->seconds_since_push);
      [[fallthrough]];
    default:
      return false;
  }
}

void PushSchedule::GiveUp() {
  LOG(WARNING) << "`schedule`: of " << pushes_
               << " pushes too few began with room for them (cluster.window), so there is no plan "
                  "by their times; where there is room, each layer leaves by itself";
  if (plan_ == nullptr) plan_ = immediate_;
  SetPhase(Phase::kIsDone);
  measures_ = false;
}

PushSchedule::~PushSchedule() {
  if (!measures() || plan_ != nullptr) return;
  LOG(WARNING) << "`schedule`: the run was over before there was a plan; of either kind of steps "
               << measured_.count() << " were measured, of measured_steps: " << measured_steps_;
}

Status PushSchedule::MakePlan(ServerLink* link) {
  std::vector<int64_t> bytes;
  {
    MutexLock lock(mutex_);
    if (phase_ != Phase::kPlans) return OkStatus();  // it is all done again
    bytes = measured_.LayerBytes();
  }
  WEIR_ASSIGN_OR_RETURN(const auto messages, MeasureMessages(bytes, link));
  std::optional<schedule::Costs> costs;
  schedule::Objective objective{};
  {
    MutexLock lock(mutex_);
    if (phase_ != Phase::kPlans) return OkStatus();
    objective = objective_;
    costs = measured_.Fit(schedule::FitMedians(messages), objective);
  }
  const schedule::Groups groups =
      config_.has_omgs() ? schedule::Omgs(*costs, objective).groups : schedule::OmgsGreedy(*costs);
  MutexLock lock(mutex_);
  if (phase_ == Phase::kPlans && objective == objective_) Adopt(*costs, groups);
  return OkStatus();
}

void PushSchedule::Adopt(const schedule::Costs& costs, const schedule::Groups& groups) {
  plan_ = std::make_shared<PartPlan>(MakePartPlan(stage_, layers_, groups));
  SetPhase(Phase::kChecks);
  report_ = PlanReport(costs, groups, objective_);
  report_.set_schedule(config_.has_omgs() ? "omgs" : "omgs_greedy");
  LOG(INFO) << "schedule." << report_.schedule() << ": " << PlanInWords(costs, groups, objective_);
  LOG(INFO) << "schedule." << report_.schedule() << ": it goes by " << CostsInWords(report_);
}

void PushSchedule::Check(double seconds) {
  checked_seconds_.push_back(seconds);
  if (checked_seconds_.size() < measured_steps_) return;
  report_.set_measured_seconds(schedule::TypicalSeconds(checked_seconds_, objective_));
  SetPhase(Phase::kIsDone);
  measures_ = false;
  LOG(INFO) << "schedule." << report_.schedule() << ": " << Milliseconds(report_.measured_seconds())
            << " a step, measured since; " << Milliseconds(report_.predicted_seconds())
            << " predicted";
}

void PushSchedule::FillReport(v1::WorkerReport* report) const {
  MutexLock lock(mutex_);
  if (report_.groups_size() > 0) *report->mutable_schedule_plan() = report_;
}

}  // namespace weir::worker

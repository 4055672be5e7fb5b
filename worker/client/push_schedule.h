// When the layers of this worker's steps leave: what the config's schedule says, or, where it goes
// by times, what comes of the run's first steps. Those leave in turns all at once and layer by
// layer (common/schedule/step_times.h); then one thread measures messages, while others go on, and
// plans. Early in a run threads await their answers, and later they do not: then it is all done
// again. Trainers need not have the same plan: a push is one step of the servers whatever its parts
// are.
//
// Place in the life of a batch: backward -> **group** -> select -> encode -> push.
// Thread rule: any thread. Borrows the config.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/device/device.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/proto/report.pb.h"
#include "common/schedule/omgs.h"
#include "worker/client/measured_pushes.h"
#include "worker/client/push_groups.h"
#include "worker/link/server_link.h"
#include "worker/push/step_encoder.h"

namespace weir::worker {

class PushSchedule {
 public:
  PushSchedule(const v1::Config& config, const ModelLayout& layout, const StageSpec& stage,
               bool is_whole_model, const device::Device& device, const StepEncoder& encoder);

  // Tells where a run was over before there was a plan.
  ~PushSchedule();

  // Whether threads await the answers of their pushes, from now on.
  void SetWaits(bool waits);

  // Of a step that begins. Null: all of it leaves at once, and nobody asks how long it takes.
  std::shared_ptr<const PartPlan> Begin() const;
  // Whether End wants to hear of a step that has left.
  bool measures() const { return measures_.load(std::memory_order_relaxed); }
  // The push that completes the measurements waits for those of messages, and plans. Of a step that
  // was not begun nothing is known: there was no room for its push.
  Status End(std::optional<MeasuredPush> push, ServerLink* link);

  void FillReport(v1::WorkerReport* report) const;

 private:
  enum class Phase { kWarmsUp, kMeasures, kPlans, kChecks, kIsDone };

  void BeginMeasuring(schedule::Objective objective) WEIR_REQUIRES(mutex_);
  bool IsComplete(std::optional<MeasuredPush> push);
  void GiveUp() WEIR_REQUIRES(mutex_);
  void Check(double seconds) WEIR_REQUIRES(mutex_);
  Status MakePlan(ServerLink* link);
  void Adopt(const schedule::Costs& costs, const schedule::Groups& groups) WEIR_REQUIRES(mutex_);
  void SetPhase(Phase phase) WEIR_REQUIRES(mutex_);

  const v1::ScheduleConfig& config_;
  const StageSpec stage_;
  const bool always_waits_;
  const schedule::Costs layers_;  // without times
  const size_t measured_steps_;
  const std::shared_ptr<const PartPlan> single_, immediate_;
  std::atomic<bool> measures_;

  mutable Mutex mutex_;
  std::shared_ptr<const PartPlan> plan_ WEIR_GUARDED_BY(mutex_);  // once there is one
  schedule::Objective objective_ WEIR_GUARDED_BY(mutex_) = schedule::Objective::kStep;
  Phase phase_ WEIR_GUARDED_BY(mutex_) = Phase::kWarmsUp;
  size_t pushes_ WEIR_GUARDED_BY(mutex_) = 0;  // in this phase
  MeasuredPushes measured_ WEIR_GUARDED_BY(mutex_);
  std::vector<double> checked_seconds_ WEIR_GUARDED_BY(mutex_);
  v1::SchedulePlanReport report_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::worker

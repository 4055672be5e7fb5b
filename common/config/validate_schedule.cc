#include "common/config/validate_schedule.h"

#include <limits>

namespace weir::config {

void ValidateSchedule(const v1::Config& config, Violations* violations) {
  const v1::ScheduleConfig& schedule = config.schedule();
  if (schedule.has_by_bytes()) {
    violations->RequireRange("schedule.by_bytes.bytes", schedule.by_bytes().bytes(), 1,
                             std::numeric_limits<int64_t>::max());
  }
  if (schedule.has_omgs_greedy()) {
    violations->RequireRange("schedule.omgs_greedy.measured_steps",
                             schedule.omgs_greedy().measured_steps(), 1, 10'000);
  }
  if (schedule.has_omgs()) {
    violations->RequireRange("schedule.omgs.measured_steps", schedule.omgs().measured_steps(), 1,
                             10'000);
  }
  if (!schedule.has_single() && config.update().dense().clip_norm() > 0) {
    violations->Add("schedule",
                    "update.dense.clip_norm needs all gradients before any leaves; choose single, "
                    "or leave clip_norm out");
  }
}

}  // namespace weir::config

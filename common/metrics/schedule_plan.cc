#include "common/metrics/schedule_plan.h"

#include <nlohmann/json.hpp>

namespace weir::metrics {

nlohmann::ordered_json SchedulePlanJson(const v1::WorkerReport& total) {
  if (!total.has_schedule_plan()) return nullptr;
  const v1::SchedulePlanReport& plan = total.schedule_plan();
  nlohmann::ordered_json json = {
      {"schedule", plan.schedule()},
      {"groups", nlohmann::ordered_json(plan.groups())},
      {"predicted_seconds", plan.predicted_seconds()},
      {"measured_seconds", nullptr},
      {"forward_seconds", plan.forward_seconds()},
      {"backward_seconds", nlohmann::ordered_json(plan.backward_seconds())},
      {"elements", nlohmann::ordered_json(plan.elements())},
      {"selection_base_seconds", plan.selection_base_seconds()},
      {"selection_element_seconds", plan.selection_element_seconds()},
      {"message_startup_seconds", plan.message_startup_seconds()},
      {"message_element_seconds", plan.message_element_seconds()},
      {"message_fixed_seconds", plan.message_fixed_seconds()},
      {"sending_slowdown", plan.sending_slowdown()},
  };
  if (plan.measured_seconds() > 0) json["measured_seconds"] = plan.measured_seconds();
  return json;
}

}  // namespace weir::metrics

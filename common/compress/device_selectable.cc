#include "common/compress/device_selectable.h"

#include <algorithm>

namespace weir::compress {

kernels::LayerPlan DeviceSelectable::Taken(const Scope& scope, const StepPlan& plan) const {
  kernels::LayerPlan taken;
  if (!plan.threshold && !plan.takes_threshold) return taken;
  taken.taking = kernels::Taking::kReaching;
  taken.takes_threshold = plan.takes_threshold ? 1 : 0;
  // Zeros are never sent.
  taken.least = std::max(plan.threshold.value_or(0), std::numeric_limits<float>::denorm_min());
  taken.rounds_to_bf16 = scope.values == wire::ValueCoding::kBf16 ? 1 : 0;
  taken.tie_end = static_cast<uint32_t>(std::min<int64_t>(plan.tie_end, UINT32_MAX));
  return taken;
}

}  // namespace weir::compress

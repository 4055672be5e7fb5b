#include "common/compress/quantizer_policy.h"

#include <algorithm>

#include "common/base/check.h"

namespace weir::compress {

bool QuantizerPolicy::SelectStripe(PolicyState& state, const StepPlan& plan, uint32_t stripe,
                                   std::span<const float> gradient, bool /*wait*/,
                                   StripeSelection* selection) const {
  selection->dense = plan.is_raw;
  selection->count = 0;
  if (plan.is_raw) {
    selection->count = static_cast<uint32_t>(gradient.size());
    std::ranges::copy(gradient, selection->values.begin());
  } else {
    Select(StateOf(state), plan, stripe, gradient, selection);
  }
  return true;
}

kernels::LayerPlan QuantizerPolicy::Taken(const Scope& scope, const StepPlan& plan) const {
  kernels::LayerPlan taken{.taking = kernels::Taking::kLevels, .has_residual = 0};
  if (plan.is_raw) {
    taken.taking = kernels::Taking::kAll;
    return taken;
  }
  taken.bucket_log2 = CodeFormat(plan).bucket_log2;
  taken.most_levels = most_levels();
  taken.chance = Chance(scope, plan.step);
  return taken;
}

void QuantizerPolicy::EndStep(PolicyState& state, const StepPlan& plan,
                              int64_t /*sent_count*/) const {
  if (plan.scales != nullptr) StateOf(state).scales.GiveBack(plan.scales);
}

void QuantizerPolicy::Accumulate(PolicyState&, std::span<const float>) const {
  LOG(FATAL) << name() << " has no residual: a step without credit must wait";
}

}  // namespace weir::compress

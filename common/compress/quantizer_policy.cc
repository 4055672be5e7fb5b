#include "common/compress/quantizer_policy.h"

#include <algorithm>

#include "common/base/check.h"

namespace weir::compress {

bool QuantizerPolicy::SelectStripe(PolicyState& state, const StepPlan& plan, uint32_t stripe,
                                   const Gradient& gradient, bool /*wait*/,
                                   StripeSelection* selection) const {
  selection->dense = plan.is_raw;
  selection->count = 0;
  if (plan.is_raw) {
    selection->count = static_cast<uint32_t>(gradient.size());
    std::ranges::copy(gradient.values, selection->values.begin());
  } else {
    Select(StateOf(state), plan, stripe, gradient.values, selection);
  }
  return true;
}

void QuantizerPolicy::EndStep(PolicyState& state, const StepPlan& plan,
                              int64_t /*sent_count*/) const {
  if (plan.scales != nullptr) StateOf(state).scales.GiveBack(plan.scales);
}

void QuantizerPolicy::Accumulate(PolicyState&, const Gradient&) const {
  LOG(FATAL) << name() << " has no residual: a step without credit must wait";
}

}  // namespace weir::compress

#include "common/compress/residual_policy.h"

#include "common/compress/select_kernels.h"

namespace weir::compress {

bool ResidualPolicy::SelectStripe(PolicyState& base, const StepPlan& plan, uint32_t stripe,
                                  std::span<const float> gradient, bool wait,
                                  StripeSelection* selection) const {
  ResidualState& state = StateOf(base);
  if (wait) {
    const Residual::Guard guard = state.residual.Lock(stripe);
    Select(state, plan, stripe, gradient, guard.values(), selection);
    return true;
  }
  const auto guard = state.residual.TryLock(stripe);
  if (!guard) return false;
  Select(state, plan, stripe, gradient, guard->values(), selection);
  return true;
}

void ResidualPolicy::Accumulate(PolicyState& base, std::span<const float> gradient) const {
  ResidualState& state = StateOf(base);
  state.residual.ForEachStripe([&](int64_t first, std::span<float> values) {
    state.scope.kernels->accumulate(gradient.subspan(static_cast<size_t>(first), values.size()),
                                    values);
  });
}

void ResidualPolicy::Select(ResidualState& state, const StepPlan& plan, uint32_t /*stripe*/,
                            std::span<const float> gradient, std::span<float> residual,
                            StripeSelection* selection) const {
  const SelectKernels& kernels = *state.scope.kernels;
  if (plan.threshold) {
    kernels.accumulate_and_select(gradient, *plan.threshold, state.scope.values, residual,
                                  selection);
    return;
  }
  kernels.accumulate(gradient, residual);
  selection->dense = false;
  selection->count = 0;
}

}  // namespace weir::compress

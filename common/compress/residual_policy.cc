#include "common/compress/residual_policy.h"

#include "common/compress/stripe_select.h"

namespace weir::compress {

bool ResidualPolicy::SelectStripe(PolicyState& base, const StepPlan& plan, uint32_t stripe,
                                  std::span<const float> gradient, bool wait,
                                  StripeSelection* selection) const {
  ResidualState& state = StateOf(base);
  if (wait) {
    const Residual::Guard guard = state.residual.Lock(stripe);
    Select(state.scope, plan, stripe, gradient, guard.values(), selection);
    return true;
  }
  const auto guard = state.residual.TryLock(stripe);
  if (!guard) return false;
  Select(state.scope, plan, stripe, gradient, guard->values(), selection);
  return true;
}

void ResidualPolicy::Accumulate(PolicyState& base, std::span<const float> gradient) const {
  StateOf(base).residual.ForEachStripe([&](int64_t first, std::span<float> values) {
    AccumulateStripe(gradient.subspan(static_cast<size_t>(first), values.size()), values);
  });
}

void ResidualPolicy::Select(const Scope& scope, const StepPlan& plan, uint32_t /*stripe*/,
                            std::span<const float> gradient, std::span<float> residual,
                            StripeSelection* selection) const {
  if (plan.threshold) {
    AccumulateAndSelect(gradient, *plan.threshold, scope.values, residual, selection);
    return;
  }
  AccumulateStripe(gradient, residual);
  selection->dense = false;
  selection->count = 0;
}

}  // namespace weir::compress

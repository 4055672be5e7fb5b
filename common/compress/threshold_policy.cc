#include "common/compress/threshold_policy.h"

#include <cmath>

namespace weir::compress {

StepPlan ThresholdPolicy::BeginStep(PolicyState& base, std::span<const float> gradient) const {
  const Ask ask = NextStep(base);
  if (!ask.sample) return PlanOf(base, ask, {});
  auto& state = static_cast<ThresholdState&>(base);
  // At the start other threads come here while the first takes its threshold.
  const MutexLock lock(state.sample_mutex);
  const SampleAsk& wanted = *ask.sample;
  state.sample.resize(wanted.shape.Capacity(state.scope.element_count));
  float* next = state.sample.data();
  ForEachSampled(wanted.shape, wanted.key, gradient, state.residual,
                 [&](std::span<const float> residual, std::span<const float> added) {
                   for (size_t i = 0; i < residual.size(); ++i) {
                     *next++ = std::fabs(residual[i] + added[i]);
                   }
                 });
  const std::span<float> sample(state.sample.data(), next);
  if (!ask.rank) return PlanOf(base, ask, {.sample = sample});
  return PlanOf(base, ask, {.ranked = {.magnitude = RankedOf(sample, *ask.rank)}});
}

void ThresholdPolicy::EndStep(PolicyState& base, const StepPlan& plan, int64_t sent_count) const {
  Observe(base, plan, sent_count);
  if (!DrainsAfter(base, plan)) return;
  StateOf(base).residual.ForEachStripe(
      [&](int64_t, std::span<float> values) { Drain(base, values); });
}

}  // namespace weir::compress

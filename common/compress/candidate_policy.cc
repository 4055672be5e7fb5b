#include "common/compress/candidate_policy.h"

#include <cmath>

#include "common/compress/round_selection.h"

namespace weir::compress {

void CandidateState::Save(ByteWriter* out) const {
  ResidualState::Save(out);
  out->Put(threshold.load());
}

bool CandidateState::Load(ByteReader* in) {
  const bool is_sound = ResidualState::Load(in);
  threshold = in->Get<float>();
  return is_sound && in->ok() && threshold >= 0;
}

void CandidatePolicy::EndStep(PolicyState& state, const StepPlan& plan,
                              int64_t /*sent_count*/) const {
  static_cast<CandidateState&>(state).lists.GiveBack(plan.candidates);
}

void CandidatePolicy::Select(ResidualState& state, const StepPlan& plan, uint32_t stripe,
                             const Gradient& /*gradient*/, std::span<float> residual,
                             StripeSelection* selection) const {
  selection->dense = false;
  selection->count = 0;
  if (!plan.threshold) return;
  const int64_t first = stripe * kStripeElements;
  const float* const layer = residual.data() - first;
  plan.candidates->ForEachIn(
      first, first + std::ssize(residual),
      [layer](uint32_t index) { __builtin_prefetch(layer + index, 1); },
      [&](uint32_t index) {
        float& left = residual[static_cast<size_t>(index - first)];
        const float value = left, magnitude = std::fabs(value);
        if (!(magnitude >= *plan.threshold)) return;
        if (magnitude == *plan.threshold && index >= plan.tie_end) return;
        selection->indexes[selection->count] = static_cast<uint16_t>(index - first);
        selection->values[selection->count++] = value;
        left = value - value;  // infinity leaves NaN behind: it cannot be sent twice
      });
  if (state.scope.values != wire::ValueCoding::kF32) RoundSelection(residual, selection);
}

}  // namespace weir::compress

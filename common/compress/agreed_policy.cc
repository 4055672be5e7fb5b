#include "common/compress/agreed_policy.h"

#include <algorithm>

#include "common/wire/value_coding.h"

namespace weir::compress {
namespace {

// Those of the tensor's elements [begin, end).
std::span<const uint32_t> AgreedIn(std::span<const uint32_t> agreed, int64_t begin, int64_t end) {
  const auto from = std::ranges::lower_bound(agreed, static_cast<uint32_t>(begin));
  const auto to = std::lower_bound(from, agreed.end(), static_cast<uint32_t>(end));
  return {from, to};
}

// What a device took of the stripe.
void HandOn(const StepPlan& plan, uint32_t stripe, StripeSelection* selection) {
  const int64_t first = stripe * kStripeElements;
  const auto agreed = AgreedIn(plan.agreed, first, first + kStripeElements);
  const auto before = static_cast<size_t>(agreed.data() - plan.agreed.data());
  selection->dense = false;
  selection->count = static_cast<uint32_t>(agreed.size());
  std::ranges::transform(agreed, selection->indexes.begin(),
                         [&](uint32_t index) { return static_cast<uint16_t>(index - first); });
  std::ranges::copy(plan.taken.subspan(before, agreed.size()), selection->values.begin());
}

// Unlike what other policies send, what rounds to 0 stays selected.
void RoundAll(std::span<float> residual, StripeSelection* selection) {
  for (uint32_t i = 0; i < selection->count; ++i) {
    float& value = selection->values[i];
    const float rounded = wire::RoundToBf16(value);
    residual[selection->indexes[i]] = value - rounded;
    value = rounded;
  }
}

}  // namespace

bool AgreedPolicy::SelectStripe(PolicyState& state, const StepPlan& plan, uint32_t stripe,
                                std::span<const float> gradient, bool wait,
                                StripeSelection* selection) const {
  if (!StateOf(state).scope.is_on_device) {
    return ResidualPolicy::SelectStripe(state, plan, stripe, gradient, wait, selection);
  }
  HandOn(plan, stripe, selection);
  return true;
}

StepPlan AgreedPolicy::BeginStep(PolicyState& state, std::span<const float> gradient) const {
  Accumulate(state, gradient);
  return {.step = StateOf(state).NextStep()};
}

void AgreedPolicy::Select(ResidualState& state, const StepPlan& plan, uint32_t stripe,
                          std::span<const float> /*gradient*/, std::span<float> residual,
                          StripeSelection* selection) const {
  selection->dense = false;
  selection->count = 0;
  const int64_t first = stripe * kStripeElements;
  for (const uint32_t index : AgreedIn(plan.agreed, first, first + std::ssize(residual))) {
    const auto offset = static_cast<uint16_t>(index - first);
    float& left = residual[offset];
    selection->indexes[selection->count] = offset;
    selection->values[selection->count++] = left;
    left -= left;  // infinity leaves NaN behind: it cannot be sent twice
  }
  if (state.scope.values != wire::ValueCoding::kF32) RoundAll(residual, selection);
}

}  // namespace weir::compress

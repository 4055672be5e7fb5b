// Random-k with error feedback (Stich et al., NeurIPS 2018): each step sends elements that chance
// chose, whatever they are worth, and keeps the rest. The baseline that a policy should beat.
// Deviation: the choice is made stripe by stripe, so a step's number of elements is right on
// average and off by less than one a stripe; an element of exactly zero is not sent.
#include <array>
#include <bit>
#include <cmath>

#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/compress/chosen_offsets.h"
#include "common/compress/device_selectable.h"
#include "common/compress/policies.h"
#include "common/compress/residual_policy.h"
#include "common/compress/select_kernels.h"

namespace weir::compress {
namespace {

constexpr size_t kWordBits = 64;
static_assert(kChosenWords * kWordBits == kStripeElements);

// Distinct offsets of a stripe, as bits.
using Chosen = std::array<uint64_t, kChosenWords>;

class RandomK : public ResidualPolicy, public DeviceSelectable {
 public:
  explicit RandomK(const v1::RandomKPolicy& config) : density_(1 - config.sparsity()) {}

  std::string_view name() const override { return "random_k"; }
  StepPlan BeginStep(PolicyState& state, std::span<const float> /*gradient*/) const override {
    return {.step = StateOf(state).NextStep()};
  }

  const DeviceSelectable* on_device() const override { return this; }
  Ask NextStep(PolicyState& state) const override { return {.step = StateOf(state).NextStep()}; }
  StepPlan PlanOf(PolicyState&, const Ask& ask, const Seen&) const override {
    return {.step = ask.step};
  }
  kernels::LayerPlan Taken(const Scope& scope, const StepPlan& plan) const override {
    return {.taking = kernels::Taking::kChosen,
            .rounds_to_bf16 = scope.values == wire::ValueCoding::kBf16 ? 1u : 0u,
            .density = density_,
            .chance = Chance(scope, plan.step)};
  }

 private:
  // Whose key with a stripe's number is that of the stripe's chance.
  static uint64_t Chance(const Scope& scope, uint64_t step) {
    return KeyedHash(scope.seed, PolicyStream::kRandomK, scope.tensor, step);
  }

  void Select(ResidualState& state, const StepPlan& plan, uint32_t stripe,
              std::span<const float> gradient, std::span<float> residual,
              StripeSelection* selection) const override {
    const Scope& scope = state.scope;
    scope.kernels->accumulate(gradient, residual);
    Chosen chosen = {};
    ChooseOffsets(Mix64(Chance(scope, plan.step) ^ stripe), density_,
                  static_cast<uint32_t>(residual.size()), chosen.data());
    Take(chosen, residual, selection);
    if (scope.values != wire::ValueCoding::kF32)
      scope.kernels->round_selection(residual, selection);
  }

  static void Take(const Chosen& chosen, std::span<float> residual, StripeSelection* selection) {
    selection->dense = false;
    selection->count = 0;
    for (size_t word = 0; word < chosen.size(); ++word) {
      for (uint64_t bits = chosen[word]; bits != 0; bits &= bits - 1) {
        const size_t offset = word * kWordBits + static_cast<size_t>(std::countr_zero(bits));
        const float value = residual[offset];
        if (!(std::fabs(value) > 0)) continue;  // nor NaN
        selection->indexes[selection->count] = static_cast<uint16_t>(offset);
        selection->values[selection->count++] = value;
        residual[offset] = value - value;  // infinity leaves NaN behind: it cannot be sent twice
      }
    }
  }

  const double density_;
};

}  // namespace

std::unique_ptr<const Policy> MakeRandomK(const v1::PolicyRule& rule) {
  return std::make_unique<RandomK>(rule.random_k());
}

}  // namespace weir::compress

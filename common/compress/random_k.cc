// Random-k with error feedback (Stich et al., NeurIPS 2018): each step sends elements that chance
// chose, whatever they are worth, and keeps the rest. The baseline that a policy should beat.
// Deviation: the choice is made stripe by stripe, so a step's number of elements is right on
// average and off by less than one a stripe; an element of exactly zero is not sent.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/compress/policies.h"
#include "common/compress/residual_policy.h"
#include "common/compress/select_kernels.h"

namespace weir::compress {
namespace {

constexpr size_t kWordBits = 64;

// Distinct offsets of a stripe, as bits.
using Chosen = std::array<uint64_t, kStripeElements / kWordBits>;

// count of size offsets, each set of them as likely as any other (Floyd's algorithm, Bentley 1987).
Chosen Choose(RandomStream* random, size_t count, size_t size) {
  Chosen chosen = {};
  const auto take = [&](size_t offset) {
    uint64_t& word = chosen[offset / kWordBits];
    const uint64_t bit = uint64_t{1} << offset % kWordBits;
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  };
  for (size_t last = size - count; last < size; ++last) {
    if (!take(random->NextBelow(last + 1))) take(last);
  }
  return chosen;
}

class RandomK : public ResidualPolicy {
 public:
  explicit RandomK(const v1::RandomKPolicy& config) : density_(1 - config.sparsity()) {}

  std::string_view name() const override { return "random_k"; }
  StepPlan BeginStep(PolicyState& state, std::span<const float> /*gradient*/) const override {
    return {.step = StateOf(state).NextStep()};
  }

 private:
  void Select(ResidualState& state, const StepPlan& plan, uint32_t stripe,
              std::span<const float> gradient, std::span<float> residual,
              StripeSelection* selection) const override {
    const Scope& scope = state.scope;
    scope.kernels->accumulate(gradient, residual);
    RandomStream random(
        KeyedHash(scope.seed, PolicyStream::kRandomK, scope.tensor, plan.step, stripe));
    const double wanted = density_ * static_cast<double>(residual.size());
    const size_t count =
        std::min(residual.size(), static_cast<size_t>(std::floor(wanted + random.NextUnit())));
    Take(Choose(&random, count, residual.size()), residual, selection);
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

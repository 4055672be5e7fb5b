// Strom's quantiser with the variance's test (Tsuzuku et al. 2018, figure 2): an element sends one
// quantum of its sign when its residual r exceeds the threshold t and r^2 exceeds alpha times the
// sum v of squares. The quantum leaves r, and v becomes what it would be had each sample's share
// been smaller by the part of the quantum that is its own: v - 2 |r| t + t^2, not below zero. v
// decays, sent or not.
//
// Deviations: r in that correction is the residual before the quantum left it, as the derivation
// has it; with the order of the figure's lines it is the one after (correction: AFTER). v is added
// up before r is, and decays before it is added to.
#include "common/compress/policies.h"
#include "common/compress/select_kernels.h"
#include "common/compress/variance_policy.h"

namespace weir::compress {
namespace {

class Hybrid : public VariancePolicy {
 public:
  explicit Hybrid(const v1::HybridPolicy& config)
      : VariancePolicy({.alpha = static_cast<float>(config.alpha()),
                        .threshold = static_cast<float>(config.threshold())},
                       static_cast<float>(config.decay())),
        corrects_after_(config.correction() == v1::HybridPolicy::AFTER) {}

  std::string_view name() const override { return "hybrid"; }
  StepPlan BeginStep(PolicyState& state, std::span<const float> /*gradient*/) const override {
    return {.step = StateOf(state).NextStep(), .scale = test_.threshold};
  }
  wire::ValueFormat value_format(const Scope&, const StepPlan& plan) const override {
    return {wire::ValueCoding::kLevels, 1, &plan.scale};
  }

  Ask NextStep(PolicyState& state) const override { return {.step = StateOf(state).NextStep()}; }
  StepPlan PlanOf(PolicyState&, const Ask& ask, const Seen&) const override {
    return {.step = ask.step, .scale = test_.threshold};
  }
  kernels::LayerPlan Taken(const Scope&, const StepPlan&) const override {
    return {.taking = kernels::Taking::kPassingQuanta,
            .quantum = test_.threshold,
            .alpha = test_.alpha,
            .corrects_after = corrects_after_ ? 1u : 0u};
  }

  double threshold(const PolicyState&) const override {
    return static_cast<double>(test_.threshold);
  }

 private:
  void Select(ResidualState& base, const StepPlan&, uint32_t stripe,
              std::span<const float> gradient, std::span<float> residual,
              StripeSelection* selection) const override {
    base.scope.kernels->accumulate_and_take_quanta(
        gradient, test_, corrects_after_, residual,
        SquareSumsOf(base, stripe * kStripeElements, residual.size()), selection);
  }

  const bool corrects_after_;
};

}  // namespace

std::unique_ptr<const Policy> MakeHybrid(const v1::PolicyRule& rule) {
  return std::make_unique<Hybrid>(rule.hybrid());
}

}  // namespace weir::compress

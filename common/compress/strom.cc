// Strom's threshold quantiser (Interspeech 2015, section 2): residual += gradient; where
// |residual| > threshold, a quantum of that size and of its sign is sent and taken off the
// residual. One quantum an element and step, however large the residual: the rest drains in later
// steps, and a threshold far below the gradients therefore delays them. Deviations: the residual is
// locked by stripes; indexes are coded by their gaps and not in 31 bits.
#include "common/compress/policies.h"
#include "common/compress/select_kernels.h"
#include "common/compress/threshold_policy.h"

namespace weir::compress {
namespace {

class Strom : public ThresholdPolicy {
 public:
  explicit Strom(const v1::StromPolicy& config)
      : threshold_(static_cast<float>(config.threshold())) {}

  std::string_view name() const override { return "strom"; }
  Ask NextStep(PolicyState& state) const override { return {.step = StateOf(state).NextStep()}; }
  StepPlan PlanOf(PolicyState&, const Ask& ask, const Seen&) const override {
    return {.step = ask.step, .threshold = threshold_};
  }
  kernels::LayerPlan Taken(const Scope&, const StepPlan&) const override {
    return {.taking = kernels::Taking::kQuanta, .quantum = threshold_};
  }
  wire::ValueFormat value_format(const Scope&, const StepPlan&) const override {
    return {wire::ValueCoding::kLevels, 1, &threshold_};
  }
  double threshold(const PolicyState&) const override { return threshold_; }

 private:
  void Select(ResidualState& state, const StepPlan&, uint32_t, std::span<const float> gradient,
              std::span<float> residual, StripeSelection* selection) const override {
    state.scope.kernels->accumulate_and_quantize(gradient, threshold_, residual, selection);
  }

  const float threshold_;
};

}  // namespace

std::unique_ptr<const Policy> MakeStrom(const v1::PolicyRule& rule) {
  return std::make_unique<Strom>(rule.strom());
}

}  // namespace weir::compress

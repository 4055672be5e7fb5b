// Hard threshold (Sahu et al., NeurIPS 2021): what |gradient + residual| >= threshold leaves, with
// a threshold that never changes. Its paper's choice for k elements a step is 1 / (2 sqrt k), in
// units of the gradient. Every worker sends what it selected itself; zeros are never sent.
#include "common/compress/policies.h"
#include "common/compress/threshold_policy.h"

namespace weir::compress {
namespace {

class HardThreshold : public ThresholdPolicy {
 public:
  explicit HardThreshold(const v1::HardThresholdPolicy& config)
      : threshold_(static_cast<float>(config.threshold())) {}

  std::string_view name() const override { return "hard_threshold"; }
  Ask NextStep(PolicyState& state) const override { return {.step = StateOf(state).NextStep()}; }
  StepPlan PlanOf(PolicyState&, const Ask& ask, const Seen&) const override {
    return {.step = ask.step, .threshold = threshold_};
  }
  double threshold(const PolicyState&) const override { return threshold_; }

 private:
  const float threshold_;
};

}  // namespace

std::unique_ptr<const Policy> MakeHardThreshold(const v1::PolicyRule& rule) {
  return std::make_unique<HardThreshold>(rule.hard_threshold());
}

}  // namespace weir::compress

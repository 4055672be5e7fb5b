// SIDCo (Abdelmoniem et al., MLSys 2021): the threshold of a wanted share comes from a distribution
// fitted to |gradient + residual| instead of a selection. Far tails are reached in stages: a fit
// for the largest quarter, then fits to what lies above the last threshold, so many that the share
// sent stays near the wanted one (algorithm 1).
//
// Deviations: zeros are left out of every fit, and the wanted share is one of the rest; a later
// stage's tail begins at its smallest magnitude, as in the authors' code; each layer adapts its
// number of stages by itself, where the code has one count of calls for all; the threshold is never
// above the largest magnitude, or a layer of equal elements would send nothing for ever.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "common/compress/kept_count.h"
#include "common/compress/magnitude_moments.h"
#include "common/compress/policies.h"
#include "common/compress/residual_policy.h"
#include "common/compress/stripe_select.h"
#include "common/compress/tail_fit.h"

namespace weir::compress {
namespace {

// Share of the first stage where there are several.
constexpr double kFirstRatio = 0.25;
// Steps between two adaptations of the number of stages, and the band of sent / wanted in which it
// stays.
constexpr int kAdaptSteps = 5;
constexpr double kFew = 0.8, kMany = 1.2;

constexpr std::array<float, kStripeElements> kNoGradient = {};

struct SidcoState : ResidualState {
  using ResidualState::ResidualState;

  std::atomic<float> threshold{0};
  std::mutex mutex;  // of what follows
  int stages = 1;
  int observed_steps = 0;
  int64_t observed_count = 0;
};

SidcoState& Sidco(PolicyState& state) { return static_cast<SidcoState&>(state); }

class SidcoPolicy : public ResidualPolicy {
 public:
  explicit SidcoPolicy(const v1::SidcoPolicy& config)
      : config_(config),
        max_stages_(std::max(1, static_cast<int>(std::ceil(-std::log2(1 - config.sparsity()))))) {}

  std::string_view name() const override { return "sidco"; }
  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    auto state = std::make_unique<SidcoState>(scope);
    if (config_.stages() > 0) state->stages = config_.stages();
    return state;
  }

  // Takes the gradient in, because the fit is to what will be selected from.
  StepPlan BeginStep(PolicyState& base, std::span<const float> gradient) const override {
    SidcoState& state = Sidco(base);
    StepPlan plan = {.step = state.NextStep()};
    const Moments all = AccumulateAndSum(state, gradient);
    if (all.count == 0 || !std::isfinite(all.square_sum)) return plan;
    const auto kept = static_cast<double>(KeptCount(state.scope.element_count, config_.sparsity()));
    const double ratio = kept / static_cast<double>(all.count);
    if (ratio >= 1) {
      plan.threshold = 0.0f;  // whatever is not zero
    } else {
      const auto above = static_cast<float>(Fit(state, all, ratio));
      plan.threshold =
          std::min(std::nextafter(above, std::numeric_limits<float>::infinity()), all.largest);
    }
    state.threshold = *plan.threshold;
    return plan;
  }

  void EndStep(PolicyState& base, const StepPlan& plan, int64_t sent_count) const override {
    SidcoState& state = Sidco(base);
    if (config_.stages() > 0 || !plan.threshold) return;
    std::lock_guard lock(state.mutex);
    state.observed_count += sent_count;
    if (++state.observed_steps < kAdaptSteps) return;
    const auto wanted =
        static_cast<double>(KeptCount(state.scope.element_count, config_.sparsity())) * kAdaptSteps;
    const double share = static_cast<double>(state.observed_count) / wanted;
    // More stages follow the tail further out, and find lower thresholds in it.
    if (share > kMany) state.stages = std::max(1, state.stages - 1);
    if (share < kFew) state.stages = std::min(max_stages_, state.stages + 1);
    state.observed_steps = 0;
    state.observed_count = 0;
  }

  double threshold(const PolicyState& state) const override {
    return static_cast<const SidcoState&>(state).threshold;
  }

 private:
  // Calls visit(values) for each stripe of the residual, locked.
  template <typename Visit>
  static void ForEachStripe(SidcoState& state, const Visit& visit) {
    for (uint32_t stripe = 0; stripe < state.residual.stripe_count(); ++stripe) {
      const Residual::Guard guard = state.residual.Lock(stripe);
      visit(stripe, guard.values());
    }
  }

  static Moments AccumulateAndSum(SidcoState& state, std::span<const float> gradient) {
    Moments all;
    ForEachStripe(state, [&](uint32_t stripe, std::span<float> values) {
      AccumulateStripe(gradient.subspan(stripe * kStripeElements, values.size()), values);
      all.Add(MomentsAbove(values, 0));
    });
    return all;
  }

  // The threshold above which a share `ratio` of the magnitudes lies.
  double Fit(SidcoState& state, const Moments& all, double ratio) const {
    const int stages = Stages(state);
    if (stages == 1 || ratio >= kFirstRatio) return FirstThreshold(state, all, ratio);
    double threshold = FirstThreshold(state, all, kFirstRatio);
    const double step_ratio = std::pow(ratio / kFirstRatio, 1.0 / (stages - 1));
    for (int stage = 1; stage < stages; ++stage) {
      Moments tail;
      ForEachStripe(state, [&](uint32_t, std::span<float> values) {
        tail.Add(MomentsAbove(values, static_cast<float>(threshold)));
      });
      if (tail.count == 0 || !std::isfinite(tail.square_sum)) return threshold;
      const auto offset = static_cast<double>(tail.least);
      threshold = config_.distribution() == v1::SidcoPolicy::EXPONENTIAL
                      ? ExponentialThreshold(tail, offset, step_ratio)
                      : ParetoThreshold(tail, offset, step_ratio);
    }
    return threshold;
  }

  double FirstThreshold(SidcoState& state, const Moments& all, double ratio) const {
    switch (config_.distribution()) {
      case v1::SidcoPolicy::GAMMA: {
        double log_sum = 0;
        ForEachStripe(state, [&](uint32_t, std::span<float> values) { log_sum += LogSum(values); });
        return GammaThreshold(all, log_sum, ratio);
      }
      case v1::SidcoPolicy::PARETO:
        return ParetoThreshold(all, 0, ratio);
      default:
        return ExponentialThreshold(all, 0, ratio);
    }
  }

  static int Stages(SidcoState& state) {
    std::lock_guard lock(state.mutex);
    return state.stages;
  }

  // The gradient is in the residual since BeginStep.
  void Select(const Scope& scope, const StepPlan& plan, uint32_t stripe,
              std::span<const float> gradient, std::span<float> residual,
              StripeSelection* selection) const override {
    ResidualPolicy::Select(scope, plan, stripe, std::span(kNoGradient).first(gradient.size()),
                           residual, selection);
  }

  const v1::SidcoPolicy config_;
  const int max_stages_;
};

}  // namespace

std::unique_ptr<const Policy> MakeSidco(const v1::PolicyRule& rule) {
  return std::make_unique<SidcoPolicy>(rule.sidco());
}

}  // namespace weir::compress

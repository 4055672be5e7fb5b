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
#include <cmath>
#include <limits>
#include <mutex>

#include "common/compress/candidate_policy.h"
#include "common/compress/kept_count.h"
#include "common/compress/magnitude_moments.h"
#include "common/compress/policies.h"
#include "common/compress/tail_fit.h"

namespace weir::compress {
namespace {

// Share of the first stage where there are several.
constexpr double kFirstRatio = 0.25;
// Steps between two adaptations of the number of stages, and the band of sent / wanted in which it
// stays.
constexpr int kAdaptSteps = 5;
constexpr double kFew = 0.8, kMany = 1.2;
// Of the last step's first threshold: what reaches so much is collected in the pass that sums, and
// nearly always holds what this step's first threshold selects.
constexpr float kLowered = 0.95f;

struct SidcoState : CandidateState {
  using CandidateState::CandidateState;

  std::atomic<float> bound{0};  // for the next step's candidates; 0: none yet
  std::mutex mutex;             // of what follows
  int stages = 1;
  int observed_steps = 0;
  int64_t observed_count = 0;
};

SidcoState& Sidco(PolicyState& state) { return static_cast<SidcoState&>(state); }

class SidcoPolicy : public CandidatePolicy {
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

  StepPlan BeginStep(PolicyState& base, const Gradient& gradient) const override {
    SidcoState& state = Sidco(base);
    StepPlan plan = {.step = state.NextStep(), .candidates = state.lists.Borrow()};
    plan.candidates->Clear();
    const float bound = state.bound;
    const Moments all = AccumulateAndSum(state, gradient.values, bound, plan.candidates);
    if (all.count == 0) return plan;
    const auto kept = static_cast<double>(KeptCount(state.scope.element_count, config_.sparsity()));
    const double ratio = kept / static_cast<double>(all.count);
    plan.flush = ratio >= 1;  // and nothing can be learned of the number of stages
    if (plan.flush) {
      plan.threshold = CollectAbove(state, 0, all.largest, bound, plan.candidates);
    } else if (std::isinf(all.largest)) {  // to be sent, so that whoever applies it sees it
      plan.threshold =
          CollectAbove(state, static_cast<double>(all.largest), all.largest, 0, plan.candidates);
    } else {
      plan.threshold = Fit(state, all, ratio, bound, plan.candidates);
    }
    plan.candidates->Keep(*plan.threshold);
    state.threshold = *plan.threshold;
    return plan;
  }

  void EndStep(PolicyState& base, const StepPlan& plan, int64_t sent_count) const override {
    SidcoState& state = Sidco(base);
    CandidatePolicy::EndStep(base, plan, sent_count);
    if (config_.stages() > 0 || plan.flush || !plan.threshold) return;
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

 private:
  // And collects what reaches the bound, if there is one.
  static Moments AccumulateAndSum(SidcoState& state, std::span<const float> gradient, float bound,
                                  Candidates* candidates) {
    Moments all;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    state.residual.ForEachStripe([&](int64_t first, std::span<float> values) {
      all.Add(candidates->AccumulateAndCollect(
          gradient.subspan(static_cast<size_t>(first), values.size()),
          bound > 0 ? bound : kInfinity, static_cast<uint32_t>(first), values));
    });
    return all;
  }

  // Makes sure that what lies above the threshold, and at least the largest, is collected, where
  // what reaches `bound` is. The least that does.
  static float CollectAbove(SidcoState& state, double threshold, float largest, float bound,
                            Candidates* candidates) {
    const float least = JustAbove(threshold, largest);
    state.bound = kLowered * least;
    if (bound > 0 && bound <= least) return least;
    candidates->Clear();
    state.residual.ForEachStripe([&](int64_t first, std::span<float> values) {
      candidates->Collect(values, least, static_cast<uint32_t>(first));
    });
    return least;
  }

  static float JustAbove(double threshold, float largest) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return std::min(std::nextafter(static_cast<float>(threshold), kInfinity), largest);
  }

  // The threshold that a share `ratio` of the magnitudes reaches, and as candidates those that
  // reach the first stage's.
  float Fit(SidcoState& state, const Moments& all, double ratio, float bound,
            Candidates* candidates) const {
    const int stages = ratio < kFirstRatio ? Stages(state) : 1;
    const double first_ratio = stages == 1 ? ratio : kFirstRatio;
    float least = CollectAbove(state, FirstThreshold(state, all, first_ratio), all.largest, bound,
                               candidates);
    const double step_ratio = std::pow(ratio / first_ratio, 1.0 / std::max(1, stages - 1));
    for (int stage = 1; stage < stages; ++stage) {
      if (stage > 1) candidates->Keep(least);  // a few of them, which later passes look at
      const Moments tail = TailMoments(candidates->magnitudes(), least);
      if (tail.count == 0) break;
      const auto offset = static_cast<double>(tail.least);
      const double threshold = config_.distribution() == v1::SidcoPolicy::EXPONENTIAL
                                   ? ExponentialThreshold(tail, offset, step_ratio)
                                   : ParetoThreshold(tail, offset, step_ratio);
      least = JustAbove(threshold, all.largest);
    }
    return least;
  }

  // Of magnitudes from least on, which is above zero; in parts, whose sums of floats are exact
  // enough.
  static Moments TailMoments(std::span<const float> magnitudes, float least) {
    const float below = std::nextafter(least, 0.0f);
    Moments tail;
    while (!magnitudes.empty()) {
      const size_t part = std::min<size_t>(magnitudes.size(), kStripeElements);
      tail.Add(MomentsAbove(magnitudes.first(part), below));
      magnitudes = magnitudes.subspan(part);
    }
    return tail;
  }

  double FirstThreshold(SidcoState& state, const Moments& all, double ratio) const {
    switch (config_.distribution()) {
      case v1::SidcoPolicy::GAMMA: {
        double log_sum = 0;
        state.residual.ForEachStripe(
            [&](uint32_t, std::span<float> values) { log_sum += LogSum(values); });
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

  const v1::SidcoPolicy config_;
  const int max_stages_;
};

}  // namespace

std::unique_ptr<const Policy> MakeSidco(const v1::PolicyRule& rule) {
  return std::make_unique<SidcoPolicy>(rule.sidco());
}

}  // namespace weir::compress

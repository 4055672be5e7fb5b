// SIDCo (Abdelmoniem et al., MLSys 2021): the threshold of a wanted share comes from a distribution
// fitted to |gradient + residual| instead of a selection. Far tails are reached in stages: a fit
// for the largest quarter, then fits to what lies above the last threshold, so many that the share
// sent stays near the wanted one (algorithm 1).
//
// Deviations: zeros are left out of every fit, and the wanted share is one of the rest; a later
// stage's tail begins at its smallest magnitude, as in the authors' code; each layer adapts its
// number of stages by itself, where the code has one count of calls for all and begins with one
// stage that stays; the threshold is not above the largest magnitude (cap_at_largest), or a
// layer of equal elements would send nothing for ever; a fit without a solution falls back to the
// exponential (tail_fit.h).
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
// More than any sparsity and any config asks for.
constexpr int kMostStages = 64;
// By how much a threshold may miss the last step's without another pass over the residual: one that
// sums begin at, either way, and one that what is sent begins at, downwards.
constexpr float kSummedBand = 0.03f, kSentBand = 0.05f;

// What the next step's thresholds are expected to be. They decide which passes a step needs, and in
// which order it adds, so no more of what it sends than the last bits of a sum do.
struct ExpectedThresholds {
  std::atomic<float> first{0};   // not above 0: nothing is known
  std::atomic<float> second{0};  // 0: there is but one stage

  void Set(float first_threshold, float second_threshold) {
    first = first_threshold;
    second = second_threshold;
  }

  void Save(ByteWriter* out) const {
    out->Put(first.load());
    out->Put(second.load());
  }
  bool Load(ByteReader* in) {
    first = in->Get<float>();
    second = in->Get<float>();
    return in->ok() && first >= 0 && second >= 0;
  }

  // Above the first of several thresholds lies a quarter of the residual, of which the second stage
  // needs the sums alone. So what is far enough above the first to be in the sums whatever it turns
  // out to be, and too far below the second to be sent, is not collected.
  CollectBounds Bounds() const {
    const float of_first = first, of_second = second;
    if (!(of_first > 0)) return {};
    if (of_second == 0) {
      const float from = (1 - kSentBand) * of_first;
      return {.low = from, .high = from, .far = from};
    }
    const float high = (1 + kSummedBand) * of_first;
    return {.low = (1 - kSummedBand) * of_first,
            .high = high,
            .far = std::max(high, (1 - kSentBand) * of_second)};
  }
};

struct FirstPass {
  CollectBounds bounds;
  CollectSums sums;
};

struct SidcoState : CandidateState {
  using CandidateState::CandidateState;

  void Save(ByteWriter* out) const override {
    CandidateState::Save(out);
    expected.Save(out);
    out->Put(stages);
    out->Put(observed_steps);
    out->Put(observed_count);
  }
  bool Load(ByteReader* in) override {
    bool is_sound = CandidateState::Load(in) && expected.Load(in);
    stages = in->Get<int>();
    observed_steps = in->Get<int>();
    observed_count = in->Get<int64_t>();
    is_sound = is_sound && in->ok() && stages >= 1 && stages <= kMostStages;
    return is_sound && observed_steps >= 0 && observed_steps < kAdaptSteps && observed_count >= 0 &&
           observed_count <= kAdaptSteps * scope.element_count;
  }

  ExpectedThresholds expected;
  std::mutex mutex;  // of what follows
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
    const FirstPass pass = AccumulateAndSum(state, gradient.values, plan.candidates);
    const Moments& all = pass.sums.all;
    if (all.count == 0) return plan;
    const auto kept = static_cast<double>(KeptCount(state.scope.element_count, config_.sparsity()));
    const double ratio = kept / static_cast<double>(all.count);
    plan.flush = ratio >= 1;  // and nothing can be learned of the number of stages
    if (plan.flush || std::isinf(all.largest)) {
      // An infinity is to be sent, so that whoever applies it sees it.
      plan.threshold = plan.flush ? JustAbove(0) : all.largest;
      if (*plan.threshold < pass.bounds.far) CollectFrom(state, *plan.threshold, plan.candidates);
      state.expected.Set(*plan.threshold, 0);
    } else {
      plan.threshold = Fit(state, pass, ratio, plan.candidates);
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
  static FirstPass AccumulateAndSum(SidcoState& state, std::span<const float> gradient,
                                    Candidates* candidates) {
    FirstPass pass{.bounds = state.expected.Bounds(), .sums = {}};
    state.residual.ForEachStripe([&](int64_t first, std::span<float> values) {
      pass.sums.Add(candidates->AccumulateAndCollect(
          gradient.subspan(static_cast<size_t>(first), values.size()), pass.bounds,
          static_cast<uint32_t>(first), values));
    });
    return pass;
  }

  // One more pass over the residual.
  static void CollectFrom(SidcoState& state, float least, Candidates* candidates) {
    candidates->Clear();
    state.residual.ForEachStripe([&](int64_t first, std::span<float> values) {
      candidates->Collect(values, least, static_cast<uint32_t>(first));
    });
  }

  // What is compared with >= of what the paper compares with >.
  static float JustAbove(double threshold) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return std::nextafter(static_cast<float>(threshold), kInfinity);
  }
  float Capped(float threshold, float largest) const {
    return config_.cap_at_largest() ? std::min(threshold, largest) : threshold;
  }

  // The threshold that a share `ratio` of the magnitudes reaches; all that do are candidates.
  float Fit(SidcoState& state, const FirstPass& pass, double ratio, Candidates* candidates) const {
    const Moments& all = pass.sums.all;
    const int stages = ratio < kFirstRatio ? Stages(state) : 1;
    const double first_ratio = stages == 1 ? ratio : kFirstRatio;
    const float first = Capped(JustAbove(FirstThreshold(state, all, first_ratio)), all.largest);
    Moments not_collected;
    float collected_from = pass.bounds.far;
    if (stages > 1 && pass.bounds.low <= first && first <= pass.bounds.high) {
      not_collected = pass.sums.between;
    } else if (!(first >= collected_from)) {
      CollectFrom(state, first, candidates);
      collected_from = first;
    }
    float least = first, second = 0;
    const double step_ratio = std::pow(ratio / first_ratio, 1.0 / std::max(1, stages - 1));
    for (int stage = 1; stage < stages; ++stage) {
      if (stage > 1) candidates->Keep(least);  // a few of them, which later passes look at
      Moments tail = TailMoments(candidates->magnitudes(), least);
      if (stage == 1) tail.Add(not_collected);
      if (tail.count == 0) break;
      // Of equal magnitudes rounding can put it below what they have in common.
      least = std::max(least, LaterThreshold(tail, step_ratio, all.largest));
      if (stage > 1) continue;
      second = least;
      if (second < collected_from) CollectFrom(state, second, candidates);
    }
    state.expected.Set(first, second);
    return least;
  }

  float LaterThreshold(const Moments& tail, double ratio, float largest) const {
    const auto offset = static_cast<double>(tail.least);
    const double threshold = config_.distribution() == v1::SidcoPolicy::EXPONENTIAL
                                 ? ExponentialThreshold(tail, offset, ratio)
                                 : ParetoThreshold(tail, offset, ratio);
    return Capped(JustAbove(threshold), largest);
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

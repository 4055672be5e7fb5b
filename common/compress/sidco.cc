// SIDCo (Abdelmoniem et al., MLSys 2021): the threshold of a wanted share comes from a distribution
// fitted to |gradient + residual| instead of a selection. Far tails are reached in stages: a fit
// for the largest quarter, then fits to what lies above the last threshold, so many that the share
// sent stays near the wanted one (algorithm 1).
//
// Deviations: fits are made to a sample (whole_layer); zeros are left out of every fit, and the
// wanted share is one of the rest; a later stage's tail begins at its smallest magnitude, as in the
// authors' code; each layer adapts its number of stages by itself, where the code has one count of
// calls for all and begins with one stage that stays; the threshold is not above the largest
// magnitude of the sample (cap_at_largest), or a layer of equal elements would send nothing for
// ever; a fit without a solution falls back to the exponential (tail_fit.h).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/compress/device_selectable.h"
#include "common/compress/kept_count.h"
#include "common/compress/magnitude_moments.h"
#include "common/compress/policies.h"
#include "common/compress/pool.h"
#include "common/compress/residual_policy.h"
#include "common/compress/residual_sample.h"
#include "common/compress/select_kernels.h"
#include "common/compress/tail_fit.h"

namespace weir::compress {
namespace {

// A run is a cache line, of which a sample of single elements would use one number. Its elements
// are of one output and may be alike; a threshold is still within 5 % of the whole layer's where
// the scale of inputs differs by factors (sidco_test.cc).
constexpr SampleShape kLines = {.run_elements = 16};

// Share of the first stage where there are several.
constexpr double kFirstRatio = 0.25;
// Steps between two adaptations of the number of stages, and the band of sent / wanted in which it
// stays.
constexpr int kAdaptSteps = 5;
constexpr double kFew = 0.8, kMany = 1.2;
// More than any sparsity and any config asks for.
constexpr int kMostStages = 64;

struct SidcoState : ResidualState {
  SidcoState(const Scope& of_scope, int first_stages)
      : ResidualState(of_scope), stages(first_stages) {}

  void Save(ByteWriter* out) const override {
    ResidualState::Save(out);
    MutexLock lock(mutex);
    out->Put(stages);
    out->Put(observed_steps);
    out->Put(observed_count);
  }
  bool Load(ByteReader* in) override {
    const bool is_sound = ResidualState::Load(in);
    MutexLock lock(mutex);
    stages = in->Get<int>();
    observed_steps = in->Get<int>();
    observed_count = in->Get<int64_t>();
    return is_sound && in->ok() && stages >= 1 && stages <= kMostStages && observed_steps >= 0 &&
           observed_steps < kAdaptSteps && observed_count >= 0 &&
           observed_count <= kAdaptSteps * scope.element_count;
  }

  std::atomic<float> threshold{0};  // the last step's
  Pool<std::vector<float>> samples;
  mutable Mutex mutex;
  int stages WEIR_GUARDED_BY(mutex);
  int observed_steps WEIR_GUARDED_BY(mutex) = 0;
  int64_t observed_count WEIR_GUARDED_BY(mutex) = 0;
};

SidcoState& Sidco(PolicyState& state) { return static_cast<SidcoState&>(state); }

// As many at once as may be summed.
template <typename Add>
void ForEachPart(std::span<const float> magnitudes, const Add& add) {
  while (!magnitudes.empty()) {
    const size_t size = std::min<size_t>(magnitudes.size(), kStripeElements);
    add(magnitudes.first(size));
    magnitudes = magnitudes.subspan(size);
  }
}

// Of magnitudes from least on, which is above zero.
Moments TailMoments(const SelectKernels& kernels, std::span<const float> magnitudes, float least) {
  const float below = std::nextafter(least, 0.0f);
  Moments tail;
  ForEachPart(magnitudes,
              [&](std::span<const float> part) { tail.Add(kernels.moments_above(part, below)); });
  return tail;
}

// What is compared with >= of what the paper compares with >. A fit to sums that are no numbers is
// above everything.
float JustAbove(double threshold) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (std::isnan(threshold)) return kInfinity;
  return std::nextafter(static_cast<float>(threshold), kInfinity);
}

class SidcoPolicy : public ResidualPolicy, public DeviceSelectable {
 public:
  explicit SidcoPolicy(const v1::SidcoPolicy& config)
      : config_(config),
        sample_(config.whole_layer() ? SampleShape::Whole() : kLines),
        max_stages_(std::max(1, static_cast<int>(std::ceil(-std::log2(1 - config.sparsity()))))) {}

  std::string_view name() const override { return "sidco"; }
  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<SidcoState>(scope, std::max(1, config_.stages()));
  }

  StepPlan BeginStep(PolicyState& base, std::span<const float> gradient) const override {
    SidcoState& state = Sidco(base);
    const Ask ask = NextStep(base);
    std::vector<float>* const memory = state.samples.Borrow();
    const StepPlan plan =
        PlanOf(base, ask, {.sample = TakeSample(state, *ask.sample, gradient, memory)});
    state.samples.GiveBack(memory);
    return plan;
  }

  const DeviceSelectable* on_device() const override { return this; }
  Ask NextStep(PolicyState& base) const override {
    SidcoState& state = Sidco(base);
    const uint64_t step = state.NextStep();
    return {.step = step,
            .sample = {{sample_, KeyedHash(state.scope.seed, PolicyStream::kThresholdSample,
                                           state.scope.tensor, step)}}};
  }

  StepPlan PlanOf(PolicyState& base, const Ask& ask, const Seen& seen) const override {
    SidcoState& state = Sidco(base);
    const std::span<const float> sample = seen.sample;
    StepPlan plan = {.step = ask.step};
    const Moments all = TailMoments(*state.scope.kernels, sample, JustAbove(0));
    // What is wanted of the whole layer is the same share of its sample.
    const auto kept = static_cast<double>(KeptCount(state.scope.element_count, config_.sparsity()));
    const double wanted =
        kept * static_cast<double>(sample.size()) / static_cast<double>(state.scope.element_count);
    // Of fewer than are wanted nothing can be learned, of a sample of zeros not whether all are.
    plan.flush = !(static_cast<double>(all.count) > wanted);
    plan.threshold = plan.flush ? JustAbove(0) : Fit(state, sample, all, wanted);
    if (all.count > 0) state.threshold = *plan.threshold;
    return plan;
  }

  void EndStep(PolicyState& base, const StepPlan& plan, int64_t sent_count) const override {
    SidcoState& state = Sidco(base);
    if (config_.stages() > 0 || plan.flush) return;
    MutexLock lock(state.mutex);
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
  // Magnitudes of gradient + residual, zeros and NaN among them, which no sum counts.
  static std::span<float> TakeSample(SidcoState& state, const SampleAsk& ask,
                                     std::span<const float> gradient, std::vector<float>* memory) {
    const size_t capacity = ask.shape.Capacity(state.scope.element_count);
    if (memory->size() < capacity) memory->resize(capacity);
    float* next = memory->data();
    ForEachSampled(ask.shape, ask.key, gradient, state.residual,
                   [&](std::span<const float> residual, std::span<const float> added) {
                     for (size_t i = 0; i < residual.size(); ++i) {
                       next[i] = std::fabs(residual[i] + added[i]);
                     }
                     next += residual.size();
                   });
    return {memory->data(), next};
  }

  // The threshold that `wanted` of the sample's magnitudes reach, fewer than there are. all: of the
  // sample.
  float Fit(SidcoState& state, std::span<const float> sample, const Moments& all,
            double wanted) const {
    // An infinity is to be sent, so that whoever applies it sees it.
    if (std::isinf(all.largest)) return all.largest;
    // Where less than one of the sample is wanted, the threshold is above it.
    const bool is_capped = config_.cap_at_largest() && wanted >= 1;
    const auto capped = [&](double threshold) {
      return is_capped ? std::min(JustAbove(threshold), all.largest) : JustAbove(threshold);
    };
    const double ratio = wanted / static_cast<double>(all.count);
    const int stages = ratio < kFirstRatio ? Stages(state) : 1;
    const double first_ratio = stages == 1 ? ratio : kFirstRatio;
    const double step_ratio = std::pow(ratio / first_ratio, 1.0 / std::max(1, stages - 1));
    float least = capped(FirstThreshold(*state.scope.kernels, sample, all, first_ratio));
    for (int stage = 1; stage < stages; ++stage) {
      const Moments tail = TailMoments(*state.scope.kernels, sample, least);
      if (tail.count == 0) break;
      // Of equal magnitudes rounding can put it below what they have in common.
      least = std::max(least, capped(LaterThreshold(tail, step_ratio)));
    }
    return least;
  }

  double FirstThreshold(const SelectKernels& kernels, std::span<const float> sample,
                        const Moments& all, double ratio) const {
    if (config_.distribution() == v1::SidcoPolicy::EXPONENTIAL) {
      return ExponentialThreshold(all, 0, ratio);
    }
    if (config_.distribution() == v1::SidcoPolicy::PARETO) return ParetoThreshold(all, 0, ratio);
    double log_sum = 0;
    ForEachPart(sample, [&](std::span<const float> part) { log_sum += kernels.log_sum(part); });
    return GammaThreshold(all, log_sum, ratio);
  }

  double LaterThreshold(const Moments& tail, double ratio) const {
    const auto offset = static_cast<double>(tail.least);
    return config_.distribution() == v1::SidcoPolicy::EXPONENTIAL
               ? ExponentialThreshold(tail, offset, ratio)
               : ParetoThreshold(tail, offset, ratio);
  }

  static int Stages(SidcoState& state) {
    MutexLock lock(state.mutex);
    return state.stages;
  }

  const v1::SidcoPolicy config_;
  const SampleShape sample_;
  const int max_stages_;
};

}  // namespace

std::unique_ptr<const Policy> MakeSidco(const v1::PolicyRule& rule) {
  return std::make_unique<SidcoPolicy>(rule.sidco());
}

}  // namespace weir::compress

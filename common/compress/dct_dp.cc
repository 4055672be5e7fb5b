// DCT is Dynamic Communication Thresholding (Gupta et al., KDD 2021), not the cosine transform.
//
// acc = gradient + residual; what reaches the threshold is sent and leaves the residual; the
// threshold is a quantile of |acc|, recomputed every `lifespan` steps (section 3.2). Deviations:
// the residual is locked by stripes, because a racy one loses gradient mass; the quantile is taken
// of a sample and of what is not zero; a step that finds no threshold takes its own instead of
// sending everything; a start schedule and a controller keep the density near its target; zeros are
// never sent; the rounding of values stays in the residual; a drain may send the residual instead
// of forgetting it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/compress/density_controller.h"
#include "common/compress/policies.h"
#include "common/compress/residual.h"
#include "common/compress/stripe_select.h"

namespace weir::compress {
namespace {

// At most so many, and of a larger layer at least half of it: enough that the density of a 1 %
// quantile has a standard deviation of 4 to 6 % of its target.
constexpr int64_t kSampleElements = 65536;

// Words that keep the keys of different random choices of a layer apart.
constexpr uint64_t kSampleKey = 101;
constexpr uint64_t kDrainKey = 102;

// Kept elements of N at sparsity eta, N - floor(N * eta), with eta * N taken as the decimal that
// the user wrote and not as its nearest binary neighbour (0.29 * 100 is 29).
int64_t KeptCount(int64_t element_count, double sparsity) {
  const double dropped = std::floor(static_cast<double>(element_count) * sparsity + 1e-9);
  return std::max<int64_t>(1, element_count - static_cast<int64_t>(dropped));
}

struct DctState : PolicyState {
  DctState(const Scope& s, const v1::DctPolicy& config)
      : scope(s),
        residual(s.element_count),
        controller(static_cast<double>(KeptCount(s.element_count, config.sparsity())),
                   config.controller()) {}

  const Scope scope;
  Residual residual;
  DensityController controller;
  std::atomic<uint64_t> step{0};
  std::atomic<double> discarded_l1{0};
};

DctState& Cast(PolicyState& state) { return static_cast<DctState&>(state); }
const DctState& Cast(const PolicyState& state) { return static_cast<const DctState&>(state); }

class DctDp : public Policy {
 public:
  explicit DctDp(const v1::DctPolicy& config) : config_(config) {}

  std::string_view name() const override { return "dct"; }
  bool keeps_residual() const override { return true; }

  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<DctState>(scope, config_);
  }

  StepPlan BeginStep(PolicyState& base, std::span<const float> gradient) const override {
    DctState& state = Cast(base);
    StepPlan plan;
    plan.step = state.step.fetch_add(1, std::memory_order_relaxed);
    // At the start other threads come here while the first takes its quantile; and after a step of
    // zeros there is none to be had before the next.
    if (IsRecomputeStep(plan.step) || !state.controller.threshold()) {
      state.controller.Recompute(Quantile(state, plan.step, gradient));
    }
    plan.threshold = state.controller.threshold();
    plan.flush = config_.drain() == v1::DctPolicy::FLUSH && Drains(state, plan.step);
    if (plan.flush) plan.threshold = 0;
    return plan;
  }

  bool SelectStripe(PolicyState& base, const StepPlan& plan, uint32_t stripe,
                    std::span<const float> gradient, bool wait,
                    StripeSelection* selection) const override {
    DctState& state = Cast(base);
    if (wait) {
      Select(state, plan, gradient, state.residual.Lock(stripe), selection);
      return true;
    }
    auto guard = state.residual.TryLock(stripe);
    if (!guard) return false;
    Select(state, plan, gradient, *std::move(guard), selection);
    return true;
  }

  void EndStep(PolicyState& base, const StepPlan& plan, int64_t sent_count) const override {
    DctState& state = Cast(base);
    // A step without a threshold says nothing about one that came meanwhile.
    if (!plan.flush && plan.threshold) state.controller.Observe(sent_count);
    if (config_.drain() == v1::DctPolicy::DISCARD && Drains(state, plan.step)) Discard(state);
  }

  void Accumulate(PolicyState& base, std::span<const float> gradient) const override {
    DctState& state = Cast(base);
    for (uint32_t stripe = 0; stripe < state.residual.stripe_count(); ++stripe) {
      const Residual::Guard guard = state.residual.Lock(stripe);
      AccumulateStripe(gradient.subspan(stripe * kStripeElements, guard.values().size()),
                       guard.values());
    }
  }

  double threshold(const PolicyState& state) const override {
    return Cast(state).controller.threshold().value_or(0);
  }
  double discarded_l1(const PolicyState& state) const override {
    return Cast(state).discarded_l1.load();
  }

 private:
  static void Select(const DctState& state, const StepPlan& plan, std::span<const float> gradient,
                     const Residual::Guard& guard, StripeSelection* selection) {
    if (plan.threshold) {
      AccumulateAndSelect(gradient, *plan.threshold, state.scope.values, guard.values(), selection);
      return;
    }
    AccumulateStripe(gradient, guard.values());
    selection->dense = false;
    selection->count = 0;
  }

  // At 0 and every lifespan; with DOUBLING also at 1, 2, 4, ... below the lifespan.
  bool IsRecomputeStep(uint64_t step) const {
    const auto lifespan = static_cast<uint64_t>(config_.lifespan());
    if (step % lifespan == 0) return true;
    const bool is_power_of_two = (step & (step - 1)) == 0;
    return config_.start() == v1::DctPolicy::DOUBLING && step < lifespan && is_power_of_two;
  }

  // The threshold that KeptCount of |gradient + residual| reach, on a sample of them, or all that
  // are not zero when they are fewer. None if there is nothing but zeros.
  std::optional<float> Quantile(DctState& state, uint64_t step,
                                std::span<const float> gradient) const {
    std::vector<float> sample = Sample(state, step, gradient);
    const auto nonzero =
        std::partition(sample.begin(), sample.end(), [](float x) { return x == 0; });
    if (nonzero == sample.end()) return std::nullopt;
    const auto kept = KeptCount(std::ssize(sample), config_.sparsity());
    const auto nth = std::max(sample.end() - kept, nonzero);
    std::nth_element(nonzero, nth, sample.end());
    return *nth;
  }

  // Magnitudes of gradient + residual, spread over all stripes. NaNs are left out: nth_element
  // cannot order them, and one might become the threshold.
  static std::vector<float> Sample(DctState& state, uint64_t step,
                                   std::span<const float> gradient) {
    const int64_t total = state.scope.element_count;
    const int64_t stride = std::max<int64_t>(1, (total + kSampleElements - 1) / kSampleElements);
    const uint64_t key = KeyedHash(state.scope.seed, kSampleKey, state.scope.tensor, step);
    std::vector<float> sample;
    sample.reserve(static_cast<size_t>(total / stride + 1));
    for (uint32_t stripe = 0; stripe < state.residual.stripe_count(); ++stripe) {
      const Residual::Guard guard = state.residual.Lock(stripe);
      const std::span<const float> values = guard.values();
      const float* stripe_gradient = gradient.data() + stripe * kStripeElements;
      const size_t start = Mix64(key ^ stripe) % static_cast<uint64_t>(stride);
      for (size_t i = start; i < values.size(); i += static_cast<size_t>(stride)) {
        const float magnitude = std::fabs(values[i] + stripe_gradient[i]);
        if (!std::isnan(magnitude)) sample.push_back(magnitude);
      }
    }
    return sample;
  }

  // A Bernoulli draw of its own for each layer, step and trainer (the seed), so that neither layers
  // nor trainers drain in a burst.
  bool Drains(const DctState& state, uint64_t step) const {
    const uint64_t hash = KeyedHash(state.scope.seed, kDrainKey, state.scope.tensor, step);
    return UnitFromHash(hash) * static_cast<double>(config_.drain_period()) < 1.0;
  }

  static void Discard(DctState& state) {
    double mass = 0;
    for (uint32_t stripe = 0; stripe < state.residual.stripe_count(); ++stripe) {
      const Residual::Guard guard = state.residual.Lock(stripe);
      for (float& value : guard.values()) {
        mass += std::fabs(value);
        value = 0;
      }
    }
    state.discarded_l1.fetch_add(mass);
  }

  const v1::DctPolicy config_;
};

}  // namespace

std::unique_ptr<const Policy> MakeDctDp(const v1::PolicyRule& rule) {
  return std::make_unique<DctDp>(rule.dct());
}

}  // namespace weir::compress

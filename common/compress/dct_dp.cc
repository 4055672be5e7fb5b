// DCT is Dynamic Communication Thresholding (Gupta et al., KDD 2021), not the cosine transform.
//
// acc = gradient + residual; what reaches the threshold is sent and leaves the residual; the
// threshold is a quantile of |acc|, recomputed every `lifespan` steps (section 3.2). Deviations:
// the residual is locked by stripes, because a racy one loses gradient mass; the quantile is the
// text's, one element above the algorithm's (one_based_rank), of what is not zero in a sample
// (quantile SORTED: in the whole layer); a step that finds no threshold takes its own instead of
// sending everything; a start schedule and a controller keep the density near its target; zeros are
// never sent; the rounding of values stays in the residual; a drain may send the residual instead
// of forgetting it, or forget a part of it every lifespan.
#include <algorithm>
#include <cmath>

#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/compress/density_controller.h"
#include "common/compress/kept_count.h"
#include "common/compress/policies.h"
#include "common/compress/threshold_policy.h"

namespace weir::compress {
namespace {

// A sample's size: enough that the density of a 1 % quantile has a standard deviation of 4 to 6 %
// of its target. Of single elements and not of runs, for those of an output are alike.
SampleShape ShapeOf(const v1::DctPolicy& config) {
  return config.quantile() == v1::DctPolicy::SORTED ? SampleShape::Whole() : SampleShape();
}

// How many of so many elements are sent: what the text says, or by the rank that the algorithm
// prints.
int64_t WantedCount(int64_t element_count, const v1::DctPolicy& config) {
  const int64_t kept = KeptCount(element_count, config.sparsity());
  return config.one_based_rank() ? std::min(element_count, kept + 1) : kept;
}

struct DctState : ThresholdState {
  DctState(const Scope& s, const v1::DctPolicy& config)
      : ThresholdState(s),
        controller(static_cast<double>(WantedCount(s.element_count, config)), config.controller()) {
  }

  void Save(ByteWriter* out) const override {
    ResidualState::Save(out);
    controller.Save(out);
  }
  bool Load(ByteReader* in) override { return ResidualState::Load(in) && controller.Load(in); }

  DensityController controller;
  std::atomic<double> discarded_l1{0};
};

DctState& Cast(PolicyState& state) { return static_cast<DctState&>(state); }
const DctState& Cast(const PolicyState& state) { return static_cast<const DctState&>(state); }

class DctDp : public ThresholdPolicy {
 public:
  explicit DctDp(const v1::DctPolicy& config) : config_(config) {}

  std::string_view name() const override { return "dct"; }
  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<DctState>(scope, config_);
  }

  Ask NextStep(PolicyState& base) const override {
    DctState& state = Cast(base);
    Ask ask{.step = state.NextStep()};
    // After a step of zeros there is no threshold to be had before the next.
    if (IsRecomputeStep(ask.step) || !state.controller.threshold()) {
      ask.sample = {ShapeOf(config_), KeyedHash(state.scope.seed, PolicyStream::kThresholdSample,
                                                state.scope.tensor, ask.step)};
      ask.rank = {.sparsity = config_.sparsity(),
                  .more = config_.one_based_rank() ? 1 : 0,
                  .sorts = config_.quantile() == v1::DctPolicy::SORTED};
    }
    return ask;
  }

  // A new quantile is the threshold as it is: what the controller makes of it begins with the step
  // behind. On a device both are done there.
  StepPlan PlanOf(PolicyState& base, const Ask& ask, const Seen& seen) const override {
    DctState& state = Cast(base);
    const bool is_on_device = state.scope.is_on_device;
    if (ask.rank && !is_on_device) state.controller.Recompute(seen.ranked.magnitude);
    StepPlan plan;
    plan.step = ask.step;
    plan.flush = config_.drain() == v1::DctPolicy::FLUSH && Drains(state, plan.step);
    if (plan.flush) {
      plan.threshold = 0;
    } else if (is_on_device) {
      plan.takes_threshold = true;
    } else {
      plan.threshold = ask.rank ? seen.ranked.magnitude : state.controller.threshold();
    }
    return plan;
  }

  DensityController* controller(PolicyState& state) const override {
    return &Cast(state).controller;
  }

  bool DrainsAfter(const PolicyState& state, const StepPlan& plan) const override {
    if (config_.drain() == v1::DctPolicy::DISCARD) return Drains(Cast(state), plan.step);
    return config_.drain() == v1::DctPolicy::DECAY && Decays(plan.step);
  }

  // Forgets all, or all but a share. Without a share infinity and NaN go too, whatever times 0 is.
  void Drain(PolicyState& state, std::span<float> residual) const override {
    const bool keeps_share = config_.drain() == v1::DctPolicy::DECAY;
    const auto share = static_cast<float>(config_.drain_factor());
    double mass = 0;
    for (float& value : residual) {
      const float left = keeps_share && share > 0 ? value * share : 0;
      mass += std::fabs(value) - std::fabs(left);
      value = left;
    }
    Cast(state).discarded_l1.fetch_add(mass);
  }

  double threshold(const PolicyState& state) const override {
    return Cast(state).controller.threshold().value_or(0);
  }
  double discarded_l1(const PolicyState& state) const override {
    return Cast(state).discarded_l1.load();
  }

 private:
  void Observe(PolicyState& base, const StepPlan& plan, int64_t sent_count) const override {
    // A step without a threshold says nothing about one that came meanwhile.
    if (!plan.flush && plan.threshold) Cast(base).controller.Observe(sent_count);
  }

  // At 0 and every lifespan; with DOUBLING also at 1, 2, 4, ... below the lifespan.
  bool IsRecomputeStep(uint64_t step) const {
    const auto lifespan = static_cast<uint64_t>(config_.lifespan());
    if (step % lifespan == 0) return true;
    const bool is_power_of_two = (step & (step - 1)) == 0;
    return config_.start() == v1::DctPolicy::DOUBLING && step < lifespan && is_power_of_two;
  }

  // A Bernoulli draw of its own for each layer, step and trainer (the seed), so that neither layers
  // nor trainers drain in a burst.
  bool Drains(const DctState& state, uint64_t step) const {
    const uint64_t hash =
        KeyedHash(state.scope.seed, PolicyStream::kDrain, state.scope.tensor, step);
    return UnitFromHash(hash) * static_cast<double>(config_.drain_period()) < 1.0;
  }

  bool Decays(uint64_t step) const {
    return step > 0 && step % static_cast<uint64_t>(config_.lifespan()) == 0;
  }

  const v1::DctPolicy config_;
};

}  // namespace

std::unique_ptr<const Policy> MakeDctDp(const v1::PolicyRule& rule) {
  return std::make_unique<DctDp>(rule.dct());
}

}  // namespace weir::compress

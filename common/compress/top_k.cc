// Top-k with error feedback: the k largest of |gradient + residual| of a layer, exactly, each step
// (Aji and Heafield, EMNLP 2017). Of elements just as large as the k-th those with the smallest
// indexes are sent, so that a step is a function of its input; where fewer than k are not zero, all
// of those. Every worker sends what it selected itself. k is what a share `sparsity` of the
// elements, rounded down, leaves: at least one.
//
// The k-th of all is the k-th of those that reach some bound, if k of them do: the last step's
// threshold, a little lowered, is that bound in nearly every step. So BeginStep takes the gradient
// in and collects candidates in one pass, and selecting goes through those alone. With several
// threads in one layer a candidate is sent only if it still reaches the threshold.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "common/compress/candidates.h"
#include "common/compress/device_selectable.h"
#include "common/compress/kept_count.h"
#include "common/compress/policies.h"
#include "common/compress/pool.h"
#include "common/compress/residual_policy.h"
#include "common/compress/select_kernels.h"

namespace weir::compress {
namespace {

// Of the last threshold: a tail has about twice as many elements above it.
constexpr float kLowered = 0.9f;
constexpr float kNotZero = std::numeric_limits<float>::denorm_min();

struct TopKState : ResidualState {
  using ResidualState::ResidualState;

  void Save(ByteWriter* out) const override {
    ResidualState::Save(out);
    out->Put(threshold.load());
  }
  bool Load(ByteReader* in) override {
    const bool is_sound = ResidualState::Load(in);
    threshold = in->Get<float>();
    return is_sound && in->ok() && threshold >= 0;
  }

  Pool<Candidates> lists;
  std::atomic<float> threshold{0};  // the last step's
};

class TopK : public ResidualPolicy, public DeviceSelectable {
 public:
  explicit TopK(const v1::TopKPolicy& config) : sparsity_(config.sparsity()) {}

  std::string_view name() const override { return "top_k"; }
  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<TopKState>(scope);
  }

  StepPlan BeginStep(PolicyState& base, std::span<const float> gradient) const override {
    auto& state = static_cast<TopKState&>(base);
    StepPlan plan = {.step = state.NextStep(), .candidates = state.lists.Borrow()};
    const auto kept = static_cast<size_t>(KeptCount(state.scope.element_count, sparsity_));
    AccumulateAndCollect(state, gradient, kept, plan.candidates);
    const size_t sent = std::min(kept, plan.candidates->count());
    if (sent == 0) return plan;
    plan.threshold = plan.candidates->KthLargest(sent);
    plan.tie_end = TieEnd(*plan.candidates, *plan.threshold, sent);
    plan.candidates->Keep(*plan.threshold);
    state.threshold = *plan.threshold;
    return plan;
  }

  // The same on a device: the k-th largest is found there, and there are no candidates.
  const DeviceSelectable* on_device() const override { return this; }
  Ask NextStep(PolicyState& base) const override {
    auto& state = static_cast<TopKState&>(base);
    return {.step = state.NextStep(),
            .rank = RankAsk{.rank = KeptCount(state.scope.element_count, sparsity_)}};
  }
  kernels::LayerPlan Taken(const Scope& scope, const StepPlan& plan) const override {
    kernels::LayerPlan taken = DeviceSelectable::Taken(scope, plan);
    taken.keeps_nan = 1;  // it is no candidate
    return taken;
  }
  StepPlan PlanOf(PolicyState& state, const Ask& ask, const Seen& seen) const override {
    const RankedMagnitude& ranked = seen.ranked;
    if (!ranked.magnitude) return {.step = ask.step};
    static_cast<TopKState&>(state).threshold = *ranked.magnitude;
    return {.step = ask.step, .threshold = ranked.magnitude, .tie_end = ranked.tie_end};
  }

  void EndStep(PolicyState& state, const StepPlan& plan, int64_t /*sent_count*/) const override {
    if (plan.candidates != nullptr) static_cast<TopKState&>(state).lists.GiveBack(plan.candidates);
  }

  double threshold(const PolicyState& state) const override {
    return static_cast<const TopKState&>(state).threshold;
  }

 private:
  // The gradient is in the residual since BeginStep.
  void Select(ResidualState& state, const StepPlan& plan, uint32_t stripe,
              std::span<const float> /*gradient*/, std::span<float> residual,
              StripeSelection* selection) const override {
    selection->dense = false;
    selection->count = 0;
    if (!plan.threshold) return;
    const int64_t first = stripe * kStripeElements;
    const float* const layer = residual.data() - first;
    plan.candidates->ForEachIn(
        first, first + std::ssize(residual),
        [layer](uint32_t index) { __builtin_prefetch(layer + index, 1); },
        [&](uint32_t index) {
          float& left = residual[static_cast<size_t>(index - first)];
          const float value = left, magnitude = std::fabs(value);
          if (!(magnitude >= *plan.threshold)) return;
          if (magnitude == *plan.threshold && index >= plan.tie_end) return;
          selection->indexes[selection->count] = static_cast<uint16_t>(index - first);
          selection->values[selection->count++] = value;
          left = value - value;  // infinity leaves NaN behind: it cannot be sent twice
        });
    const Scope& scope = state.scope;
    if (scope.values != wire::ValueCoding::kF32)
      scope.kernels->round_selection(residual, selection);
  }

  static void AccumulateAndCollect(TopKState& state, std::span<const float> gradient, size_t kept,
                                   Candidates* candidates) {
    candidates->Clear();
    const SelectKernels& kernels = *state.scope.kernels;
    const float bound = std::max(kLowered * state.threshold, kNotZero);
    state.residual.ForEachStripe([&](int64_t first, std::span<float> values) {
      kernels.accumulate(gradient.subspan(static_cast<size_t>(first), values.size()), values);
      candidates->Collect(kernels, values, bound, static_cast<uint32_t>(first));
    });
    if (candidates->count() >= kept || bound == kNotZero) return;
    candidates->Clear();
    state.residual.ForEachStripe([&](int64_t first, std::span<float> values) {
      candidates->Collect(kernels, values, kNotZero, static_cast<uint32_t>(first));
    });
  }

  // Behind the last element equal to the threshold that is one of the `sent` largest.
  static int64_t TieEnd(const Candidates& candidates, float threshold, size_t sent) {
    const std::span<const float> magnitudes = candidates.magnitudes();
    const auto above = std::ranges::count_if(
        magnitudes, [threshold](float magnitude) { return magnitude > threshold; });
    size_t ties = sent - static_cast<size_t>(above);  // at least one: the threshold's own
    for (size_t i = 0;; ++i) {
      if (magnitudes[i] == threshold && --ties == 0) return int64_t{candidates.indexes()[i]} + 1;
    }
  }

  const double sparsity_;
};

}  // namespace

std::unique_ptr<const Policy> MakeTopK(const v1::PolicyRule& rule) {
  return std::make_unique<TopK>(rule.top_k());
}

}  // namespace weir::compress

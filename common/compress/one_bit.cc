// 1-bit SGD (Seide et al., Interspeech 2014, section 3.3): of gradient plus residual each element
// sends its sign alone, and the receiver gives it the mean of the elements of that sign; what that
// is wrong by stays in the residual. Every element, every step: a bit each.
//
// Deviations: the means are of buckets of consecutive elements, which may be columns or not; a
// layer with an element that is no number leaves as it is, and a mean below the least normal float
// is 0. With several threads, what another one has sent since a step's means were taken is sent
// once more, and comes back through the residual.
#include <algorithm>
#include <cmath>

#include "common/compress/bucket_sums.h"
#include "common/compress/buckets.h"
#include "common/compress/device_selectable.h"
#include "common/compress/policies.h"
#include "common/compress/pool.h"
#include "common/compress/residual_policy.h"
#include "common/compress/select_kernels.h"
#include "common/compress/stochastic_levels.h"

namespace weir::compress {
namespace {

struct OneBitState : ResidualState {
  using ResidualState::ResidualState;
  Pool<std::vector<float>> scales;
};

class OneBit : public ResidualPolicy, public DeviceSelectable {
 public:
  explicit OneBit(const v1::OneBitPolicy& config) : buckets_(config.bucket()) {}

  std::string_view name() const override { return "one_bit"; }
  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<OneBitState>(scope);
  }

  StepPlan BeginStep(PolicyState& base, std::span<const float> gradient) const override {
    auto& state = static_cast<OneBitState&>(base);
    StepPlan plan = {.step = state.NextStep(), .scales = state.scales.Borrow()};
    plan.scales->assign(2 * buckets_.CountOf(state.scope.element_count), 0);
    const SelectKernels& kernels = *state.scope.kernels;
    state.residual.ForEachStripe([&](int64_t first, std::span<float> values) {
      kernels.accumulate(gradient.subspan(static_cast<size_t>(first), values.size()), values);
      const size_t bucket = static_cast<size_t>(first) >> buckets_.log2();
      buckets_.ForEach(values, [&](size_t i, std::span<const float> part) {
        SetMeans(kernels.sum_bucket(part), std::ssize(part), bucket + i, &plan);
      });
    });
    SetThreshold(&plan);
    return plan;
  }

  const DeviceSelectable* on_device() const override { return this; }
  Ask NextStep(PolicyState& state) const override {
    return {.step = StateOf(state).NextStep(), .bucket_log2 = buckets_.log2()};
  }
  StepPlan PlanOf(PolicyState& base, const Ask& ask, const Seen& seen) const override {
    auto& state = static_cast<OneBitState&>(base);
    StepPlan plan = {.step = ask.step, .scales = state.scales.Borrow()};
    plan.scales->assign(2 * seen.buckets.size(), 0);
    int64_t left = state.scope.element_count;
    for (size_t i = 0; i < seen.buckets.size(); ++i, left -= buckets_.size()) {
      SetMeans(seen.buckets[i], std::min(left, buckets_.size()), i, &plan);
    }
    SetThreshold(&plan);
    return plan;
  }
  kernels::LayerPlan Taken(const Scope&, const StepPlan& plan) const override {
    if (!plan.threshold) return {};
    if (plan.is_raw) return {.taking = kernels::Taking::kAll};
    return {.taking = kernels::Taking::kMeans, .bucket_log2 = buckets_.log2()};
  }

  void EndStep(PolicyState& state, const StepPlan& plan, int64_t) const override {
    static_cast<OneBitState&>(state).scales.GiveBack(plan.scales);
  }

  wire::ValueFormat value_format(const Scope&, const StepPlan& plan) const override {
    wire::ValueFormat format = wire::ValueCoding::kF32;
    if (plan.is_raw) return format;
    format.coding = wire::ValueCoding::kLevels;
    format.bits = 1;
    format.bucket_log2 = buckets_.log2();
    format.two_sided = true;
    format.scales = *plan.scales;
    return format;
  }

 private:
  // Means of those from 0 on, and of the magnitudes of the others. Where something is no number
  // there are none.
  static void SetMeans(const BucketSums& sums, int64_t count, size_t bucket, StepPlan* plan) {
    if (!std::isfinite(sums.sum) || !std::isfinite(sums.minus_sum)) {
      plan->is_raw = true;
      return;
    }
    float* const means = plan->scales->data() + 2 * bucket;
    const int64_t plus_count = count - sums.minus_count;
    const auto mean = [](double sum, int64_t of) {
      return of == 0 ? 0.0f : SoundScale(std::max(0.0, sum) / static_cast<double>(of));
    };
    means[0] = mean(sums.sum - sums.minus_sum, plus_count);
    means[1] = mean(-sums.minus_sum, sums.minus_count);
  }

  // Something is sent where there is a mean.
  static void SetThreshold(StepPlan* plan) {
    const bool any = std::ranges::any_of(*plan->scales, [](float scale) { return scale > 0; });
    if (any || plan->is_raw) plan->threshold = 0;
  }

  // The gradient is in the residual since BeginStep.
  void Select(ResidualState&, const StepPlan& plan, uint32_t stripe, std::span<const float>,
              std::span<float> residual, StripeSelection* selection) const override {
    selection->dense = plan.threshold.has_value();
    selection->count = 0;
    if (!selection->dense) return;
    selection->count = static_cast<uint32_t>(residual.size());
    if (plan.is_raw) {
      std::ranges::copy(residual, selection->values.begin());
      for (float& left : residual) left -= left;  // infinity leaves NaN behind
      return;
    }
    const float* const means = plan.scales->data() + 2 * buckets_.FirstOf(stripe);
    float* sent = selection->values.data();
    buckets_.ForEach(residual, [&](size_t bucket, std::span<float> part) {
      const float plus = means[2 * bucket], minus = -means[2 * bucket + 1];
      for (size_t i = 0; i < part.size(); ++i) {
        sent[i] = part[i] < 0 ? minus : plus;
        part[i] -= sent[i];
      }
      sent += part.size();
    });
  }

  const Buckets buckets_;
};

}  // namespace

std::unique_ptr<const Policy> MakeOneBit(const v1::PolicyRule& rule) {
  return std::make_unique<OneBit>(rule.one_bit());
}

}  // namespace weir::compress

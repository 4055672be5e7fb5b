// QSGD (Alistarh et al., NeurIPS 2017, section 3): of each bucket of b elements the L2 norm, and of
// each element |v| / norm in s levels, rounded up or down by chance so that the mean is the value.
// No residual: what chance takes from one step it gives to another. Of c bits a code, s is
// 2^(c - 1); at most s (s + sqrt b) elements of a bucket are not zero on average (lemma 3.1), and
// zeros are not sent.
//
// Deviations: indexes and levels have the codings of every policy and not Elias's; a layer with a
// norm that is no number leaves as it is, and of a bucket whose norm is below the least normal
// float nothing does. Squares are floats: of elements below about 1e-22 norms are too small, or 0.
#include <cmath>

#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/compress/buckets.h"
#include "common/compress/policies.h"
#include "common/compress/quantizer_policy.h"
#include "common/compress/select_kernels.h"
#include "common/compress/stochastic_levels.h"

namespace weir::compress {
namespace {

class Qsgd : public QuantizerPolicy {
 public:
  explicit Qsgd(const v1::QsgdPolicy& config)
      : bits_(static_cast<uint32_t>(config.bits())), buckets_(config.bucket()) {}

  std::string_view name() const override { return "qsgd"; }

  StepPlan BeginStep(PolicyState& base, std::span<const float> gradient) const override {
    QuantizerState& state = StateOf(base);
    StepPlan plan = {.step = state.NextStep(), .scales = state.scales.Borrow()};
    plan.scales->resize(buckets_.CountOf(state.scope.element_count));
    buckets_.ForEach(gradient, [&](size_t bucket, std::span<const float> values) {
      SetScale(state.scope.kernels->sum_bucket(values), bucket, &plan);
    });
    return plan;
  }

  Ask NextStep(PolicyState& state) const override {
    return {.step = StateOf(state).NextStep(), .bucket_log2 = buckets_.log2()};
  }
  StepPlan PlanOf(PolicyState& state, const Ask& ask, const Seen& seen) const override {
    StepPlan plan = {.step = ask.step, .scales = StateOf(state).scales.Borrow()};
    plan.scales->resize(seen.buckets.size());
    for (size_t i = 0; i < seen.buckets.size(); ++i) SetScale(seen.buckets[i], i, &plan);
    return plan;
  }

 private:
  wire::ValueFormat CodeFormat(const StepPlan& plan) const override {
    wire::ValueFormat format = wire::ValueCoding::kLevels;
    format.bits = bits_;
    format.bucket_log2 = buckets_.log2();
    format.scales = *plan.scales;
    return format;
  }

  uint32_t most_levels() const override { return 1u << (bits_ - 1); }

  uint64_t Chance(const Scope& scope, uint64_t step) const override {
    return KeyedHash(scope.seed, PolicyStream::kQsgd, scope.tensor, step);
  }

  void SetScale(const BucketSums& sums, size_t bucket, StepPlan* plan) const {
    const double norm = std::sqrt(sums.square_sum);
    plan->is_raw = plan->is_raw || !std::isfinite(norm);
    (*plan->scales)[bucket] = SoundScale(norm / most_levels());
  }

  void Select(const QuantizerState& state, const StepPlan& plan, uint32_t stripe,
              std::span<const float> gradient, StripeSelection* selection) const override {
    const uint64_t chance = Mix64(Chance(state.scope, plan.step) ^ stripe);
    const float* const scales = plan.scales->data() + buckets_.FirstOf(stripe);
    buckets_.ForEach(gradient, [&](size_t bucket, std::span<const float> values) {
      const auto first = static_cast<uint32_t>(values.data() - gradient.data());
      state.scope.kernels->append_levels(values, {.scale = scales[bucket], .most = most_levels()},
                                         chance, first, selection);
    });
  }

  const uint32_t bits_;
  const Buckets buckets_;
};

}  // namespace

std::unique_ptr<const Policy> MakeQsgd(const v1::PolicyRule& rule) {
  return std::make_unique<Qsgd>(rule.qsgd());
}

}  // namespace weir::compress

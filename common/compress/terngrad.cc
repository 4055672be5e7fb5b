// TernGrad (Wen et al., NeurIPS 2017, section 3): each element becomes -s, 0 or s, and not 0 with
// probability |g| / s, where s is the largest magnitude of the layer after clipping to c standard
// deviations (section 3.3: layer-wise, c = 2.5). Right on average but for what is clipped; no
// residual.
//
// Deviations: s is the worker's own, so workers send without agreeing on one. Zeros are not sent:
// an index and a sign are shorter than a digit of three for each element as soon as three of five
// digits are zero. Nothing is clipped in layers of few elements, nor where all are nearly equal:
// there a deviation says nothing, and one element alone would never be sent. A layer with an
// element that is no number leaves as it is, and of one whose s is below the least normal float
// nothing does.
#include <algorithm>
#include <cmath>

#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/compress/bucket_sums.h"
#include "common/compress/policies.h"
#include "common/compress/quantizer_policy.h"
#include "common/compress/select_kernels.h"
#include "common/compress/stochastic_levels.h"

namespace weir::compress {
namespace {

// On a device the layer is summed by parts of so many elements.
constexpr uint32_t kSummedLog2 = 9;
constexpr size_t kFewestClipped = 16;
// Of the squared mean: below it a variance of 32-bit sums is rounding.
constexpr double kLeastSpread = 1e-5;

class Terngrad : public QuantizerPolicy {
 public:
  explicit Terngrad(const v1::TerngradPolicy& config) : clip_(config.clip()) {}

  std::string_view name() const override { return "terngrad"; }

  StepPlan BeginStep(PolicyState& base, std::span<const float> gradient) const override {
    QuantizerState& state = StateOf(base);
    return PlanFor(state.NextStep(), SumAll(*state.scope.kernels, gradient), gradient.size());
  }

  Ask NextStep(PolicyState& state) const override {
    return {.step = StateOf(state).NextStep(), .bucket_log2 = kSummedLog2};
  }
  StepPlan PlanOf(PolicyState& state, const Ask& ask, const Seen& seen) const override {
    BucketSums sums;
    for (const BucketSums& bucket : seen.buckets) sums = sums + bucket;
    return PlanFor(ask.step, sums, static_cast<size_t>(StateOf(state).scope.element_count));
  }

 private:
  wire::ValueFormat CodeFormat(const StepPlan& plan) const override {
    return {wire::ValueCoding::kLevels, 1, &plan.scale};
  }
  uint32_t most_levels() const override { return 1; }

  uint64_t Chance(const Scope& scope, uint64_t step) const override {
    return KeyedHash(scope.seed, PolicyStream::kTernGrad, scope.tensor, step);
  }

  StepPlan PlanFor(uint64_t step, const BucketSums& sums, size_t size) const {
    StepPlan plan = {.step = step};
    plan.is_raw = !std::isfinite(sums.square_sum);
    plan.scale = Scale(sums, size);
    return plan;
  }

  static BucketSums SumAll(const SelectKernels& kernels, std::span<const float> gradient) {
    BucketSums sums;
    for (size_t begin = 0; begin < gradient.size(); begin += kStripeElements) {
      const size_t count = std::min(gradient.size() - begin, static_cast<size_t>(kStripeElements));
      sums = sums + kernels.sum_bucket(gradient.subspan(begin, count));
    }
    return sums;
  }

  float Scale(const BucketSums& sums, size_t size) const {
    const auto largest = static_cast<double>(sums.largest), count = static_cast<double>(size);
    const double mean = sums.sum / count;
    const double variance = sums.square_sum / count - mean * mean;
    const bool clips = clip_ > 0 && size >= kFewestClipped && variance > kLeastSpread * mean * mean;
    return SoundScale(clips ? std::min(largest, clip_ * std::sqrt(variance)) : largest);
  }

  void Select(const QuantizerState& state, const StepPlan& plan, uint32_t stripe,
              std::span<const float> gradient, StripeSelection* selection) const override {
    const uint64_t chance = Mix64(Chance(state.scope, plan.step) ^ stripe);
    state.scope.kernels->append_levels(gradient, {.scale = plan.scale, .most = 1}, chance, 0,
                                       selection);
  }

  const double clip_;
};

}  // namespace

std::unique_ptr<const Policy> MakeTerngrad(const v1::PolicyRule& rule) {
  return std::make_unique<Terngrad>(rule.terngrad());
}

}  // namespace weir::compress

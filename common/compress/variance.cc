// Variance-based compression (Tsuzuku, Imachi, Akiba, ICLR 2018 workshop, section 4, figure 1): an
// element is sent when the square of its accumulated gradient r exceeds alpha times the sum v of
// its squares over samples, that is when its mean is more than its noise; v of the others decays.
// What is sent is a power of two within 2^-7 of the largest of the step, sign and distance in four
// bits (section 4.2): the nearest one, or the largest power not above the largest residual.
//
// Deviations. The largest power is taken over what is sent, not over the layer: never larger, and
// then more is in reach. What is too small for four bits stays where it is (drop_keeps_residual);
// figure 1 forgets it unsent. What rounding changed is forgotten as in the paper, unless
// quant_error_feedback keeps it: up to a third of an element, half of the largest.
#include <algorithm>
#include <bit>
#include <cmath>

#include "common/compress/policies.h"
#include "common/compress/variance_policy.h"

namespace weir::compress {
namespace {

constexpr uint32_t kBits = 4;
constexpr uint32_t kLargestDistance = 7;
constexpr uint32_t kMantissaBits = 23;
constexpr uint32_t kExponentMask = 0x7f800000;
constexpr uint32_t kLargestExponent = 0x7f000000;  // of a finite float

// 2^floor(log2 magnitude); 0 of what is no normal float, of infinity the largest finite power.
float PowerBelow(float magnitude) {
  const uint32_t exponent = std::bit_cast<uint32_t>(magnitude) & kExponentMask;
  return std::bit_cast<float>(std::min(exponent, kLargestExponent));
}

// The nearest power of two, 1.5 being nearer to 2, at most the largest.
float NearestPower(float magnitude, float largest) {
  constexpr uint32_t kHalf = 1u << (kMantissaBits - 1);
  const uint32_t exponent = (std::bit_cast<uint32_t>(magnitude) + kHalf) & kExponentMask;
  return std::min(std::bit_cast<float>(exponent), largest);
}

uint32_t ExponentOf(float power) { return std::bit_cast<uint32_t>(power) >> kMantissaBits; }

class Variance : public VariancePolicy {
 public:
  explicit Variance(const v1::VariancePolicy& config)
      : VariancePolicy({.alpha = static_cast<float>(config.alpha()),
                        .decay = static_cast<float>(config.decay())}),
        drop_keeps_residual_(config.drop_keeps_residual()),
        quant_error_feedback_(config.quant_error_feedback()) {}

  std::string_view name() const override { return "variance"; }

  StepPlan BeginStep(PolicyState& base, const Gradient& gradient) const override {
    VarianceState& state = VariancePolicy::Variance(base);
    StepPlan plan = {.step = state.NextStep(), .candidates = state.lists.Borrow()};
    plan.candidates->Clear();
    std::array<uint16_t, kStripeElements + kSelectionSlack> passing;
    state.residual.ForEachStripe([&](int64_t first, std::span<float> residual) {
      const size_t count =
          AccumulateAndTest(gradient.Part(first, residual.size()), test_, residual,
                            state.SquareSums(first, residual.size()), passing.data());
      plan.candidates->Add(residual, std::span(passing).first(count), static_cast<uint32_t>(first));
    });
    if (plan.candidates->count() == 0) return plan;
    plan.scale = PowerBelow(std::ranges::max(plan.candidates->magnitudes()));
    if (plan.scale > 0) plan.threshold = plan.scale;
    state.threshold = plan.scale;
    return plan;
  }

  wire::ValueFormat value_format(const Scope&, const StepPlan& plan) const override {
    return {wire::ValueCoding::kPowers, kBits, &plan.scale};
  }

 private:
  // The gradient is in the residual since BeginStep; meanwhile another thread may have sent a
  // candidate, or made it larger.
  void Select(ResidualState& base, const StepPlan& plan, uint32_t stripe,
              const Gradient& /*gradient*/, std::span<float> residual,
              StripeSelection* selection) const override {
    selection->dense = false;
    selection->count = 0;
    if (!plan.threshold) return;
    const int64_t first = stripe * kStripeElements;
    const std::span<float> square_sums =
        VariancePolicy::Variance(base).SquareSums(first, residual.size());
    const float* const residuals = residual.data() - first;
    const float* const sums = square_sums.data() - first;
    const uint32_t* const end = plan.candidates->indexes().data() + plan.candidates->count();
    for (const uint32_t& index : plan.candidates->IndexesIn(first, first + std::ssize(residual))) {
      if (&index + kCandidatesAhead < end) {
        __builtin_prefetch(residuals + (&index)[kCandidatesAhead], 1);
        __builtin_prefetch(sums + (&index)[kCandidatesAhead], 1);
      }
      const auto offset = static_cast<size_t>(index - first);
      if (!Passes(residual[offset], square_sums[offset])) continue;
      const float sent = Take(plan.scale, &residual[offset], &square_sums[offset]);
      if (sent == 0) continue;
      selection->indexes[selection->count] = static_cast<uint16_t>(offset);
      selection->values[selection->count++] = sent;
    }
  }

  // What is sent of an element that passed; 0 where its power is out of reach.
  float Take(float largest, float* residual, float* square_sum) const {
    const float value = *residual, power = NearestPower(std::fabs(value), largest);
    const bool in_reach = power > 0 && ExponentOf(largest) - ExponentOf(power) <= kLargestDistance;
    if (!in_reach && drop_keeps_residual_) {
      *square_sum *= test_.decay;
      return 0;
    }
    *square_sum = 0;
    const float sent = in_reach ? std::copysign(power, value) : 0.0f;
    // Infinity leaves NaN behind: it cannot be sent twice.
    *residual = quant_error_feedback_ ? value - sent + (value - value) : value - value;
    return sent;
  }

  const bool drop_keeps_residual_;
  const bool quant_error_feedback_;
};

}  // namespace

std::unique_ptr<const Policy> MakeVariance(const v1::PolicyRule& rule) {
  return std::make_unique<Variance>(rule.variance());
}

}  // namespace weir::compress

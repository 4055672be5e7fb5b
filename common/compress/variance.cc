// Variance-based compression (Tsuzuku, Imachi, Akiba, ICLR 2018 workshop, section 4, figure 1): an
// element is sent when the square of its accumulated gradient r exceeds alpha times the sum v of
// its squares over samples, that is when its mean is more than its noise; v of the others decays.
// What is sent is a power of two within 2^-7 of the largest of the step, sign and distance in four
// bits (section 4.2): the nearest one, or the largest power not above the largest residual.
//
// Deviations. The largest power is taken over what is sent, not over the layer (exponent_of_layer):
// never larger, and then more is in reach. What is too small for four bits stays where it is
// (drop_keeps_residual); figure 1 forgets it unsent. What rounding changed is forgotten as in the
// paper, unless quant_error_feedback keeps it: up to a third of an element, half of the largest. An
// infinity leaves as it is. With several threads an element may have grown since its step's largest
// was found, and is then capped at that step's power: more than half of it may be forgotten, and is
// counted. v is added up before r is, and decays before it is added to. What is smaller than about
// 1e-23 has no square as a float and waits until it has grown.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>

#include "common/base/hogwild.h"
#include "common/compress/candidates.h"
#include "common/compress/policies.h"
#include "common/compress/pool.h"
#include "common/compress/powers.h"
#include "common/compress/select_kernels.h"
#include "common/compress/variance_policy.h"

namespace weir::compress {
namespace {

constexpr uint32_t kBits = 4;
constexpr uint32_t kSignBit = 0x80000000;

// NaN and infinity, which have no power, are left out.
float LargestFinite(std::span<const float> values) {
  uint32_t largest = 0;
  for (const float value : values) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(value) & ~kSignBit;
    largest = std::max(largest, magnitude < kExponentMask ? magnitude : 0);
  }
  return std::bit_cast<float>(largest);
}

struct State : VarianceState {
  using VarianceState::VarianceState;

  Pool<Candidates> lists;
  std::atomic<float> threshold{0};  // the last step's
  std::atomic<double> discarded_l1{0};
};

class Variance : public VariancePolicy {
 public:
  explicit Variance(const v1::VariancePolicy& config)
      : VariancePolicy({.alpha = static_cast<float>(config.alpha())},
                       static_cast<float>(config.decay())),
        drop_keeps_residual_(config.drop_keeps_residual()),
        quant_error_feedback_(config.quant_error_feedback()),
        exponent_of_layer_(config.exponent_of_layer()) {}

  std::string_view name() const override { return "variance"; }
  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<State>(scope);
  }

  StepPlan BeginStep(PolicyState& base, std::span<const float> gradient) const override {
    auto& state = static_cast<State&>(base);
    StepPlan plan = {.step = state.NextStep(), .candidates = state.lists.Borrow()};
    plan.candidates->Clear();
    float largest = 0;  // of what gives the exponent
    std::array<uint16_t, kStripeElements> passing;
    state.residual.ForEachStripe([&](int64_t first, std::span<float> residual) {
      const size_t count = state.scope.kernels->accumulate_and_test(
          gradient.subspan(static_cast<size_t>(first), residual.size()), test_, residual,
          state.SquareSumsOf(first, residual.size()), passing.data());
      plan.candidates->Add(residual, std::span(passing).first(count), static_cast<uint32_t>(first));
      if (exponent_of_layer_) largest = std::max(largest, LargestFinite(residual));
    });
    if (plan.candidates->count() == 0) return plan;
    SetScale(&state, std::ranges::max(plan.candidates->magnitudes()), largest, &plan);
    return plan;
  }

  Ask NextStep(PolicyState& state) const override {
    return {.step = StateOf(state).NextStep(), .alpha = test_.alpha};
  }
  StepPlan PlanOf(PolicyState& state, const Ask& ask, const Seen& seen) const override {
    StepPlan plan = {.step = ask.step};
    if (seen.largest.passing == 0) return plan;
    SetScale(&static_cast<State&>(state), seen.largest.passing,
             exponent_of_layer_ ? seen.largest.finite : 0, &plan);
    return plan;
  }
  kernels::LayerPlan Taken(const Scope&, const StepPlan& plan) const override {
    if (!plan.threshold) return {};
    if (plan.is_raw) {  // infinities
      return {.taking = kernels::Taking::kReaching, .least = plan.scale, .keeps_nan = 1};
    }
    return {.taking = kernels::Taking::kPassingPowers,
            .quantum = plan.scale,
            .alpha = test_.alpha,
            .keeps_what_is_out_of_reach = drop_keeps_residual_ ? 1u : 0u,
            .keeps_rounding = quant_error_feedback_ ? 1u : 0u};
  }
  void CountDiscarded(PolicyState& state, double mass) const override {
    if (std::isfinite(mass)) static_cast<State&>(state).discarded_l1.fetch_add(mass);
  }

  void EndStep(PolicyState& base, const StepPlan& plan, int64_t /*sent_count*/) const override {
    if (plan.candidates != nullptr) static_cast<State&>(base).lists.GiveBack(plan.candidates);
  }

  wire::ValueFormat value_format(const Scope&, const StepPlan& plan) const override {
    if (plan.is_raw) return wire::ValueCoding::kF32;
    return {wire::ValueCoding::kPowers, kBits, &plan.scale};
  }
  double threshold(const PolicyState& state) const override {
    return static_cast<double>(static_cast<const State&>(state).threshold.load());
  }
  double discarded_l1(const PolicyState& state) const override {
    return static_cast<const State&>(state).discarded_l1.load();
  }

 private:
  // largest: of the layer, or 0.
  static void SetScale(State* state, float largest_sent, float largest, StepPlan* plan) {
    plan->is_raw = std::isinf(largest_sent);
    plan->scale = PowerBelow(std::max(largest, largest_sent));
    if (plan->scale > 0) plan->threshold = plan->scale;
    state->threshold = plan->scale;
  }

  // The gradient is in the residual since BeginStep; meanwhile another thread may have sent a
  // candidate, or made it larger.
  void Select(ResidualState& base, const StepPlan& plan, uint32_t stripe,
              std::span<const float> /*gradient*/, std::span<float> residual,
              StripeSelection* selection) const override {
    selection->dense = false;
    selection->count = 0;
    if (!plan.threshold) return;
    const int64_t first = stripe * kStripeElements;
    auto& state = static_cast<State&>(base);
    const std::span<float> square_sums = state.SquareSumsOf(first, residual.size());
    double discarded = 0;
    const float* const residuals = residual.data() - first;
    const float* const sums = square_sums.data() - first;
    const auto prefetch = [residuals, sums](uint32_t index) {
      __builtin_prefetch(residuals + index, 1);
      __builtin_prefetch(sums + index, 1);
    };
    const auto take = [&](uint32_t index) {
      const auto offset = static_cast<size_t>(index - first);
      const float value = residual[offset];
      if (!Passes(test_, value, square_sums[offset])) return;
      const float sent = Take(plan, &residual[offset], &square_sums[offset]);
      discarded += std::fabs(static_cast<double>(value) - static_cast<double>(sent) -
                             static_cast<double>(residual[offset]));
      if (sent == 0) return;
      selection->indexes[selection->count] = static_cast<uint16_t>(offset);
      selection->values[selection->count++] = sent;
    };
    plan.candidates->ForEachIn(first, first + std::ssize(residual), prefetch, take);
    CountDiscarded(state, discarded);
  }

  // What is sent of an element that passed; 0 where its power is out of reach, or a raw step sends
  // infinities alone.
  float Take(const StepPlan& plan, float* residual, float* square_sum) const {
    const float value = *residual;
    if (plan.is_raw) return TakeInfinity(value, residual);
    const float power = PowerToSend(std::fabs(value), plan.scale);
    const bool in_reach = power > 0;
    if (!in_reach && drop_keeps_residual_) return 0;
    hogwild::Store(0, square_sum);
    const float sent = in_reach ? std::copysign(power, value) : 0.0f;
    *residual = in_reach && quant_error_feedback_ ? value - sent : 0.0f;
    return sent;
  }

  static float TakeInfinity(float value, float* residual) {
    if (!std::isinf(value)) return 0;
    *residual = value - value;  // NaN: it cannot be sent twice
    return value;
  }

  const bool drop_keeps_residual_;
  const bool quant_error_feedback_;
  const bool exponent_of_layer_;
};

}  // namespace

std::unique_ptr<const Policy> MakeVariance(const v1::PolicyRule& rule) {
  return std::make_unique<Variance>(rule.variance());
}

}  // namespace weir::compress

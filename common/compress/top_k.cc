// Top-k with error feedback: the k largest of |gradient + residual| of a layer, exactly, each step
// (Aji and Heafield, EMNLP 2017). Of elements just as large as the k-th those with the smallest
// indexes are sent, so that a step is a function of its input; where fewer than k are not zero, all
// of those. Every worker sends what it selected itself. While several threads are in one layer, k
// is what each counted before it selected.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "common/compress/kept_count.h"
#include "common/compress/kth_largest.h"
#include "common/compress/policies.h"
#include "common/compress/residual_policy.h"
#include "common/compress/round_selection.h"
#include "common/compress/stripe_select.h"

namespace weir::compress {
namespace {

struct TopKState : ResidualState {
  explicit TopKState(const Scope& s)
      : ResidualState(s), magnitudes(static_cast<size_t>(s.element_count)) {}

  std::mutex mutex;               // of magnitudes
  std::vector<float> magnitudes;  // of a step, while its threshold is sought
  std::atomic<float> threshold{0};
};

class TopK : public ResidualPolicy {
 public:
  explicit TopK(const v1::TopKPolicy& config) : sparsity_(config.sparsity()) {}

  std::string_view name() const override { return "top_k"; }
  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<TopKState>(scope);
  }

  StepPlan BeginStep(PolicyState& base, std::span<const float> gradient) const override {
    auto& state = static_cast<TopKState&>(base);
    StepPlan plan = {.step = state.NextStep()};
    std::lock_guard lock(state.mutex);
    const std::span<float> nonzero = Magnitudes(state, gradient);
    if (nonzero.empty()) return plan;
    const auto kept = static_cast<size_t>(KeptCount(state.scope.element_count, sparsity_));
    const float least = KthLargest(nonzero, std::min(kept, nonzero.size()));
    plan.threshold = least;
    plan.tie_end = TieEnd(state, gradient, least, kept);
    state.threshold = least;
    return plan;
  }

  double threshold(const PolicyState& state) const override {
    return static_cast<const TopKState&>(state).threshold;
  }

 private:
  // Calls visit(index, |gradient + residual|) for the layer's elements in order.
  template <typename Visit>
  static void ForEachMagnitude(TopKState& state, std::span<const float> gradient,
                               const Visit& visit) {
    for (uint32_t stripe = 0; stripe < state.residual.stripe_count(); ++stripe) {
      const Residual::Guard guard = state.residual.Lock(stripe);
      const std::span<const float> values = guard.values();
      const int64_t first = stripe * kStripeElements;
      const float* stripe_gradient = gradient.data() + first;
      for (size_t i = 0; i < values.size(); ++i) {
        visit(first + static_cast<int64_t>(i), std::fabs(values[i] + stripe_gradient[i]));
      }
    }
  }

  // Those that are not zero; NaN has no order.
  static std::span<float> Magnitudes(TopKState& state, std::span<const float> gradient) {
    float* next = state.magnitudes.data();
    ForEachMagnitude(state, gradient, [&](int64_t, float magnitude) {
      *next = magnitude;  // stays if it is above zero
      next += static_cast<ptrdiff_t>(magnitude > 0);
    });
    return {state.magnitudes.data(), next};
  }

  // Behind the last element equal to least that is one of the first `kept`.
  static int64_t TieEnd(TopKState& state, std::span<const float> gradient, float least,
                        size_t kept) {
    size_t above = 0;
    std::vector<int64_t> ties;
    ForEachMagnitude(state, gradient, [&](int64_t index, float magnitude) {
      above += static_cast<size_t>(magnitude > least);
      if (magnitude == least && ties.size() < kept) ties.push_back(index);
    });
    const size_t room = kept - std::min(kept, above);
    return room == 0 ? 0 : ties[std::min(room, ties.size()) - 1] + 1;
  }

  void Select(const Scope& scope, const StepPlan& plan, uint32_t stripe,
              std::span<const float> gradient, std::span<float> residual,
              StripeSelection* selection) const override {
    Scope whole = scope;
    whole.values = wire::ValueCoding::kF32;
    ResidualPolicy::Select(whole, plan, stripe, gradient, residual, selection);
    const int64_t first = stripe * kStripeElements;
    if (plan.threshold && plan.tie_end < first + std::ssize(residual)) {
      GiveBackTies(plan, first, residual, selection);
    }
    if (scope.values != wire::ValueCoding::kF32) RoundSelection(residual, selection);
  }

  static void GiveBackTies(const StepPlan& plan, int64_t first, std::span<float> residual,
                           StripeSelection* selection) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < selection->count; ++i) {
      const uint16_t index = selection->indexes[i];
      const float value = selection->values[i];
      if (std::fabs(value) == *plan.threshold && first + index >= plan.tie_end) {
        residual[index] = value;
        continue;
      }
      selection->indexes[kept] = index;
      selection->values[kept++] = value;
    }
    selection->count = kept;
  }

  const double sparsity_;
};

}  // namespace

std::unique_ptr<const Policy> MakeTopK(const v1::PolicyRule& rule) {
  return std::make_unique<TopK>(rule.top_k());
}

}  // namespace weir::compress

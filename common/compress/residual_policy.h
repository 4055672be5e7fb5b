// What policies have in common that select by magnitude from a residual: its locks, its stripes,
// and the step that goes without a push. A policy of this kind says what threshold a step has.
//
// Place in the life of a batch: backward -> residual += gradient -> **select** -> encode -> push.
// Thread rule: any thread; a lock per stripe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "common/compress/policy.h"
#include "common/compress/residual.h"

namespace weir::compress {

struct ResidualState : PolicyState {
  explicit ResidualState(const Scope& s)
      : scope(s), residual(s.is_on_device ? 0 : s.element_count) {}

  void Save(ByteWriter* out) const override { out->Put(step.load()); }
  bool Load(ByteReader* in) override {
    step = in->Get<uint64_t>();
    return in->ok();
  }
  uint64_t NextStep() { return step.fetch_add(1, std::memory_order_relaxed); }

  const Scope scope;
  Residual residual;
  std::atomic<uint64_t> step{0};
};

class ResidualPolicy : public Policy {
 public:
  bool keeps_residual() const override { return true; }
  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<ResidualState>(scope);
  }
  Residual* residual(PolicyState& state) const override { return &StateOf(state).residual; }

  bool SelectStripe(PolicyState& state, const StepPlan& plan, uint32_t stripe,
                    std::span<const float> gradient, bool wait,
                    StripeSelection* selection) const override;
  void EndStep(PolicyState&, const StepPlan&, int64_t) const override {}
  void Accumulate(PolicyState& state, std::span<const float> gradient) const override;
  double threshold(const PolicyState&) const override { return 0; }
  double discarded_l1(const PolicyState&) const override { return 0; }

 protected:
  // residual: the stripe's, locked. What reaches plan.threshold; without one, nothing.
  virtual void Select(ResidualState& state, const StepPlan& plan, uint32_t stripe,
                      std::span<const float> gradient, std::span<float> residual,
                      StripeSelection* selection) const;

  static ResidualState& StateOf(PolicyState& state) { return static_cast<ResidualState&>(state); }
};

}  // namespace weir::compress

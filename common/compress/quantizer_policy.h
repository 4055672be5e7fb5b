// What quantisers have in common that keep nothing: they are right on average, so that what a step
// loses another brings back. A step needs credit, as every step of `none` does.
//
// Place in the life of a batch: backward -> **select** -> encode -> push.
// Thread rule: any thread; a lock for the pool of scales.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/compress/device_selectable.h"
#include "common/compress/policy.h"
#include "common/compress/pool.h"

namespace weir::compress {

struct QuantizerState : PolicyState {
  explicit QuantizerState(const Scope& s) : scope(s) {}

  void Save(ByteWriter* out) const override { out->Put(step.load()); }
  bool Load(ByteReader* in) override {
    step = in->Get<uint64_t>();
    return in->ok();
  }
  uint64_t NextStep() { return step.fetch_add(1, std::memory_order_relaxed); }

  const Scope scope;
  std::atomic<uint64_t> step{0};
  Pool<std::vector<float>> scales;
};

class QuantizerPolicy : public Policy, public DeviceSelectable {
 public:
  bool keeps_residual() const override { return false; }
  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<QuantizerState>(scope);
  }
  bool SelectStripe(PolicyState& state, const StepPlan& plan, uint32_t stripe,
                    std::span<const float> gradient, bool wait,
                    StripeSelection* selection) const override;
  void EndStep(PolicyState& state, const StepPlan& plan, int64_t sent_count) const override;
  void Accumulate(PolicyState& state, std::span<const float> gradient) const override;
  wire::ValueFormat value_format(const Scope&, const StepPlan& plan) const override {
    return plan.is_raw ? wire::ValueFormat(wire::ValueCoding::kF32) : CodeFormat(plan);
  }
  double threshold(const PolicyState&) const override { return 0; }
  double discarded_l1(const PolicyState&) const override { return 0; }

  const DeviceSelectable* on_device() const override { return this; }
  kernels::LayerPlan Taken(const Scope& scope, const StepPlan& plan) const override;

 protected:
  // Whose key with a stripe's number is that of the stripe's chance.
  virtual uint64_t Chance(const Scope& scope, uint64_t step) const = 0;
  virtual uint32_t most_levels() const = 0;

  // Of a step that is not raw. Appends what is not zero to the selection, which is empty.
  virtual void Select(const QuantizerState& state, const StepPlan& plan, uint32_t stripe,
                      std::span<const float> gradient, StripeSelection* selection) const = 0;

  virtual wire::ValueFormat CodeFormat(const StepPlan& plan) const = 0;

  static QuantizerState& StateOf(PolicyState& state) { return static_cast<QuantizerState&>(state); }
};

}  // namespace weir::compress

// What the policies have in common that hold a gradient back until its size tells more than its
// noise (Tsuzuku et al. 2018): beside the residual r of each element the sum v of squares.
//
// Place in the life of a batch: backward -> residual += gradient -> **select** -> encode -> push.
// Thread rule: any thread; a lock per stripe of the residual. The square sums, which backward
// passes add to meanwhile, are Hogwild's (square_sums.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "common/compress/device_selectable.h"
#include "common/compress/residual_policy.h"
#include "common/compress/variance_select.h"
#include "common/device/cpu_device.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::compress {

struct VarianceState : ResidualState {
  explicit VarianceState(const Scope& s)
      : ResidualState(s), square_sums(static_cast<size_t>(s.is_on_device ? 0 : s.element_count)) {}

  void Save(ByteWriter* out) const override;
  bool Load(ByteReader* in) override;

  void MakeRoom();  // for square sums

  // Of the elements from first on.
  std::span<float> SquareSumsOf(int64_t first, size_t count) {
    return square_sums.span().subspan(static_cast<size_t>(first), count);
  }

  tensor::AlignedBuffer square_sums;  // of a layer on a device: once they are saved or loaded
};

class VariancePolicy : public ResidualPolicy, public DeviceSelectable {
 public:
  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<VarianceState>(scope);
  }
  SquareSums square_sums(PolicyState& state) const override {
    return {device::OnCpu(static_cast<VarianceState&>(state).square_sums.span()), decay_};
  }

  const DeviceSelectable* on_device() const override { return this; }
  bool keeps_square_sums() const override { return true; }
  std::span<float> RoomForSquareSums(PolicyState& state) const override;

 protected:
  // decay: of the square sums, a step.
  VariancePolicy(const VarianceTest& test, float decay) : test_(test), decay_(decay) {}

  static std::span<float> SquareSumsOf(PolicyState& state, int64_t first, size_t count) {
    return static_cast<VarianceState&>(state).SquareSumsOf(first, count);
  }

  const VarianceTest test_;

 private:
  const float decay_;
};

}  // namespace weir::compress

// What the policies have in common that hold a gradient back until its size tells more than its
// noise (Tsuzuku et al. 2018): beside the residual r of each element the sum v of squares.
//
// Place in the life of a batch: backward -> residual += gradient -> **select** -> encode -> push.
// Thread rule: any thread; the residual's lock of a stripe is that of its square sums as well.
#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <span>

#include "common/compress/residual_policy.h"
#include "common/compress/variance_select.h"
#include "common/tensor/aligned_buffer.h"

namespace weir::compress {

struct VarianceState : ResidualState {
  explicit VarianceState(const Scope& s)
      : ResidualState(s), square_sums(static_cast<size_t>(s.element_count)) {}

  void Save(ByteWriter* out) const override;
  bool Load(ByteReader* in) override;

  // Of the elements from first on; the caller holds their stripe.
  std::span<float> SquareSums(int64_t first, size_t count) {
    return square_sums.span().subspan(static_cast<size_t>(first), count);
  }

  tensor::AlignedBuffer square_sums;
};

class VariancePolicy : public ResidualPolicy {
 public:
  bool needs_squares() const override { return true; }
  std::unique_ptr<PolicyState> MakeState(const Scope& scope) const override {
    return std::make_unique<VarianceState>(scope);
  }
  void Accumulate(PolicyState& state, const Gradient& gradient) const override;

 protected:
  explicit VariancePolicy(const VarianceTest& test) : test_(test) {}

  static std::span<float> SquareSums(PolicyState& state, int64_t first, size_t count) {
    return static_cast<VarianceState&>(state).SquareSums(first, count);
  }
  // What the test compares, of one element.
  bool Passes(float residual, float square_sum) const {
    return residual * residual > test_.alpha * square_sum && std::fabs(residual) > test_.threshold;
  }

  const VarianceTest test_;
};

}  // namespace weir::compress

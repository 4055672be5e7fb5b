#include "common/compress/variance_policy.h"

namespace weir::compress {

void VariancePolicy::Accumulate(PolicyState& base, const Gradient& gradient) const {
  VarianceState& state = Variance(base);
  state.residual.ForEachStripe([&](int64_t first, std::span<float> residual) {
    AccumulateAndDecay(gradient.Part(first, residual.size()), test_.decay, residual,
                       state.SquareSums(first, residual.size()));
  });
}

}  // namespace weir::compress

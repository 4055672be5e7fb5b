#include "common/compress/variance_policy.h"

namespace weir::compress {

void VariancePolicy::Accumulate(PolicyState& base, const Gradient& gradient) const {
  StateOf(base).residual.ForEachStripe([&](int64_t first, std::span<float> residual) {
    AccumulateAndDecay(gradient.Part(first, residual.size()), test_.decay, residual,
                       SquareSums(base, first, residual.size()));
  });
}

}  // namespace weir::compress

#include "common/compress/variance_policy.h"

#include <cstring>

#include "common/compress/select_kernels.h"

namespace weir::compress {

void VarianceState::Save(ByteWriter* out) const {
  ResidualState::Save(out);
  out->PutRaw(square_sums.data(), square_sums.size() * sizeof(float));
}

bool VarianceState::Load(ByteReader* in) {
  if (!ResidualState::Load(in)) return false;
  const size_t byte_count = square_sums.size() * sizeof(float);
  const ByteSpan saved = in->GetSpan(byte_count);
  if (in->ok()) std::memcpy(square_sums.data(), saved.data(), byte_count);
  return in->ok();
}

void VariancePolicy::Accumulate(PolicyState& base, const Gradient& gradient) const {
  ResidualState& state = StateOf(base);
  state.residual.ForEachStripe([&](int64_t first, std::span<float> residual) {
    state.scope.kernels->accumulate_and_decay(gradient.Part(first, residual.size()), test_.decay,
                                              residual, SquareSums(base, first, residual.size()));
  });
}

}  // namespace weir::compress

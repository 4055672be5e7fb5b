#include "common/compress/variance_policy.h"

#include <cstring>

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

}  // namespace weir::compress

#include "common/compress/variance_policy.h"

#include <cstring>

namespace weir::compress {

void VarianceState::MakeRoom() {
  const auto count = static_cast<size_t>(scope.element_count);
  if (square_sums.size() < count) square_sums = tensor::AlignedBuffer(count);
}

void VarianceState::Save(ByteWriter* out) const {
  ResidualState::Save(out);
  out->PutRaw(square_sums.data(), square_sums.size() * sizeof(float));
}

bool VarianceState::Load(ByteReader* in) {
  if (!ResidualState::Load(in)) return false;
  MakeRoom();
  const size_t byte_count = square_sums.size() * sizeof(float);
  const ByteSpan saved = in->GetSpan(byte_count);
  if (in->ok()) std::memcpy(square_sums.data(), saved.data(), byte_count);
  return in->ok();
}

std::span<float> VariancePolicy::RoomForSquareSums(PolicyState& base) const {
  auto& state = static_cast<VarianceState&>(base);
  state.MakeRoom();
  return state.square_sums.span();
}

}  // namespace weir::compress

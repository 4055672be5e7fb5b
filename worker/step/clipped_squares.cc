#include "worker/step/clipped_squares.h"

#include <utility>

#include "common/device/repeat_key.h"

namespace weir::worker {

ClippedSquares::ClippedSquares(const kernels::Compute& compute, compress::SquareSumsOfTensors sums)
    : kernels_(*compute.kernels), sums_(std::move(sums)) {
  for (const compress::SquareSums& tensor : sums_) {
    squares_.emplace_back(*compute.device, tensor.sums.size, "the squares of a step");
  }
}

compress::SquareSumsOfTensors ClippedSquares::of_step() {
  compress::SquareSumsOfTensors squares;
  for (const device::Buffer<float>& tensor : squares_) {
    squares.push_back({.sums = tensor.span(), .decay = 0});
  }
  return squares;
}

uint64_t ClippedSquares::Key() const {
  uint64_t key = sums_.size();
  for (size_t i = 0; i < sums_.size(); ++i) {
    key = device::AddToKey(key, squares_[i].span());
    key = device::AddToKey(key, sums_[i].sums);
    key = device::AddToKey(key, sums_[i].decay);
  }
  return key;
}

void ClippedSquares::Add(device::Stream& stream, device::Pointer<const float> factor) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    const auto count = static_cast<int64_t>(squares_[i].size());
    kernels_.add_squares(stream, {squares_[i].data(), count}, factor, sums_[i].decay,
                         {sums_[i].sums.data, count});
  }
}

}  // namespace weir::worker

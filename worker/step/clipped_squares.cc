#include "worker/step/clipped_squares.h"

#include <span>
#include <utility>

#include "common/base/hogwild.h"

namespace weir::worker {
namespace {

WEIR_HOGWILD void DecayAndAdd(float scale, const float* squares, float decay,
                              std::span<float> sums) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = sums[i] * decay + squares[i] * scale;
}

}  // namespace

ClippedSquares::ClippedSquares(compress::SquareSumsOfTensors sums) : sums_(std::move(sums)) {
  for (const compress::SquareSums& tensor : sums_) squares_.emplace_back(tensor.sums.size());
}

compress::SquareSumsOfTensors ClippedSquares::of_step() {
  compress::SquareSumsOfTensors squares;
  for (tensor::AlignedBuffer& tensor : squares_) {
    squares.push_back({.sums = tensor.span(), .decay = 0});
  }
  return squares;
}

void ClippedSquares::Add(float factor) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    DecayAndAdd(factor * factor, squares_[i].data(), sums_[i].decay, sums_[i].sums);
  }
}

}  // namespace weir::worker

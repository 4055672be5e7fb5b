// What happens to whole gradients and replicas between two steps.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "common/base/check.h"
#include "common/base/hogwild.h"
#include "common/base/wide_vectors.h"
#include "common/kernels/cpu_functions.h"

namespace weir::kernels::cpu {
namespace {

// Side by side in 64 bits, for the compiler to make vectors of, as wide as there are: the order is
// the same.
double SquareSumInLanes(std::span<const float> values) {
  constexpr size_t kSums = 8;
  std::array<double, kSums> sums = {};
  size_t i = 0;
  for (; i + kSums <= values.size(); i += kSums) {
    for (size_t k = 0; k < kSums; ++k) {
      const double value = values[i + k];
      sums[k] += value * value;
    }
  }
  double sum = 0;
  for (; i < values.size(); ++i) sum += static_cast<double>(values[i]) * values[i];
  for (const double part : sums) sum += part;
  return sum;
}

double SquareSum(std::span<const float> values) {
  double sum = 0;
  RunWithWideVectors([&] { sum = SquareSumInLanes(values); });
  return sum;
}

std::span<float> SpanOf(const VectorView& values) {
  return {values.data, static_cast<size_t>(values.count)};
}

WEIR_HOGWILD void DecayAndAdd(float scale, const float* squares, float decay,
                              std::span<float> sums) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = sums[i] * decay + squares[i] * scale;
}

}  // namespace

void ClipNorm(double limit, const VectorView& gradients, const VectorView& squares, float* factor) {
  *factor = 1;
  const double norm = std::sqrt(SquareSum(SpanOf(gradients)));
  // NaN and infinity stay what they are, for the server to refuse them.
  if (!(norm > limit) || std::isinf(norm)) return;
  *factor = static_cast<float>(limit / norm);
  for (float& gradient : SpanOf(gradients)) gradient *= *factor;
  for (float& square : SpanOf(squares)) square *= *factor * *factor;
}

void AddSquares(const ConstVectorView& squares, const float* factor, float decay,
                const VectorView& sums) {
  CHECK_EQ(squares.count, sums.count);
  DecayAndAdd(*factor * *factor, squares.data, decay, SpanOf(sums));
}

void WriteValues(const ConstVectorView& values, const uint32_t* indexes, const VectorView& to) {
  for (int64_t i = 0; i < values.count; ++i) {
    DCHECK_LT(static_cast<int64_t>(indexes[i]), to.count);
    hogwild::Store(values.data[i], to.data + indexes[i]);
  }
}

void NoteNotFinite(const ConstVectorView& values, double* sum) {
  const std::span<const float> all(values.data, static_cast<size_t>(values.count));
  if (std::ranges::all_of(all, [](float value) { return __builtin_isfinite(value); })) return;
  *sum = std::numeric_limits<double>::quiet_NaN();
}

void MarkNonzero(const ConstVectorView& values, uint8_t* marks) {
  for (int64_t i = 0; i < values.count; ++i) {
    if (values.data[i] != 0.0f) marks[i] = 1;
  }
}

}  // namespace weir::kernels::cpu

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "common/kernels/cpu_kernels.h"
#include "tests/common/kernels/gradient_check.h"

namespace weir::kernels {
namespace {

using test::GradientsAgree;
using test::NumericGradient;
using test::RandomFloats;
using test::Widen;

constexpr int64_t kSamples = 7, kUnique = 4, kDimension = 5, kStride = 8;

// Row 3 is in no sample, row 0 in three.
const std::vector<uint32_t> positions = {0, 2, 1, 0, 2, 1, 0};

IndexView Positions() { return {positions.data(), kSamples}; }

TEST(EmbeddingKernels, GatherPutsEachSamplesRowIntoItsSlot) {
  const std::vector<float> rows = RandomFloats(kUnique * kDimension, 1);
  std::vector<float> samples(kSamples * kStride, 9.0f);
  CpuKernels().gather_rows(Dense(rows.data(), kUnique, kDimension), Positions(),
                           {samples.data() + 2, kSamples, kDimension, kStride});
  for (size_t s = 0; s < kSamples; ++s) {
    for (size_t c = 0; c < kStride; ++c) {
      const bool inside = c >= 2 && c < 2 + kDimension;
      const float expected = inside ? rows[positions[s] * kDimension + c - 2] : 9.0f;
      EXPECT_EQ(samples[s * kStride + c], expected) << s << " " << c;
    }
  }
}

TEST(EmbeddingKernels, ScatterIsTheDerivativeOfGather) {
  std::vector<double> rows = Widen(RandomFloats(kUnique * kDimension, 1));
  const std::vector<float> sample_gradients = RandomFloats(kSamples * kStride, 2);
  const auto loss = [&] {
    double sum = 0.0;
    for (size_t s = 0; s < kSamples; ++s) {
      for (size_t c = 0; c < kDimension; ++c) {
        sum += rows[positions[s] * kDimension + c] * sample_gradients[s * kStride + c];
      }
    }
    return sum;
  };
  std::vector<float> row_gradients(kUnique * kDimension, std::nanf(""));
  CpuKernels().scatter_add_rows({sample_gradients.data(), kSamples, kDimension, kStride},
                                Positions(), Dense(row_gradients.data(), kUnique, kDimension));
  EXPECT_TRUE(GradientsAgree(row_gradients, NumericGradient(rows, loss)));
}

TEST(EmbeddingKernels, ARowWithoutSamplesHasGradientZero) {
  const std::vector<float> sample_gradients = RandomFloats(kSamples * kDimension, 2);
  std::vector<float> row_gradients(kUnique * kDimension, 3.0f);
  CpuKernels().scatter_add_rows(Dense(sample_gradients.data(), kSamples, kDimension), Positions(),
                                Dense(row_gradients.data(), kUnique, kDimension));
  for (size_t c = 0; c < kDimension; ++c) EXPECT_EQ(row_gradients[3 * kDimension + c], 0.0f);
}

}  // namespace
}  // namespace weir::kernels

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/kernels/cpu_functions.h"
#include "tests/common/kernels/each_target.h"
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
  cpu::GatherRows(Dense(rows.data(), kUnique, kDimension), Positions(),
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
  std::vector<float> row_gradients(kUnique * kDimension);
  cpu::ScatterAddRows({sample_gradients.data(), kSamples, kDimension, kStride}, Positions(),
                      Dense(row_gradients.data(), kUnique, kDimension));
  EXPECT_TRUE(GradientsAgree(row_gradients, NumericGradient(rows, loss)));
}

// Four lists, the second empty, with what another slice has before them.
const std::vector<uint32_t> list_indexes = {3, 3, 0, 2, 0, 1, 1, 2};
const std::vector<uint32_t> list_ends = {5, 5, 6, 8};
const std::vector<float> list_weights = {9, 9, 1, -2, 0.5f, 3, 0, 1};

ListsView Lists(bool weighted) {
  return {list_indexes.data(), weighted ? list_weights.data() : nullptr, list_ends.data(), 2, 4};
}

// The sum over samples and columns of what pooling gives, times factors.
double PooledSum(const std::vector<double>& rows, const std::vector<float>& factors,
                 bool weighted) {
  double sum = 0;
  size_t k = 2;
  for (size_t s = 0; s < list_ends.size(); ++s) {
    for (; k < list_ends[s]; ++k) {
      for (size_t c = 0; c < kDimension; ++c) {
        const double weight = weighted ? list_weights[k] : 1;
        sum += weight * rows[list_indexes[k] * kDimension + c] * factors[s * kDimension + c];
      }
    }
  }
  return sum;
}

TEST(EmbeddingKernels, PoolSumsTheRowsOfEachList) {
  for (const bool weighted : {false, true}) {
    test::ForEachTarget([&] {
      const std::vector<float> rows = RandomFloats(kUnique * kDimension, 1);
      std::vector<float> samples(4 * kDimension, std::nanf(""));
      cpu::PoolRows(Dense(rows.data(), kUnique, kDimension), Lists(weighted),
                    Dense(samples.data(), 4, kDimension));
      for (size_t c = 0; c < kDimension; ++c) EXPECT_EQ(samples[kDimension + c], 0) << "no ids";
      const std::vector<float> factors = RandomFloats(4 * kDimension, 2);
      EXPECT_NEAR(test::Dot(Widen(samples), Widen(factors)),
                  PooledSum(Widen(rows), factors, weighted), 1e-5);
    });
  }
}

TEST(EmbeddingKernels, ScatterOfListsIsTheDerivativeOfPool) {
  for (const bool weighted : {false, true}) {
    test::ForEachTarget([&] {
      std::vector<double> rows = Widen(RandomFloats(kUnique * kDimension, 1));
      const std::vector<float> sample_gradients = RandomFloats(4 * kDimension, 2);
      std::vector<float> row_gradients(kUnique * kDimension);
      cpu::ScatterAddLists(Dense(sample_gradients.data(), 4, kDimension), Lists(weighted),
                           Dense(row_gradients.data(), kUnique, kDimension));
      const auto loss = [&] { return PooledSum(rows, sample_gradients, weighted); };
      EXPECT_TRUE(GradientsAgree(row_gradients, NumericGradient(rows, loss)));
    });
  }
}

TEST(EmbeddingKernels, ScatterAddsToWhatIsThere) {
  const std::vector<float> sample_gradients = RandomFloats(kSamples * kDimension, 2);
  std::vector<float> row_gradients(kUnique * kDimension, 3.0f);
  cpu::ScatterAddRows(Dense(sample_gradients.data(), kSamples, kDimension), Positions(),
                      Dense(row_gradients.data(), kUnique, kDimension));
  for (size_t c = 0; c < kDimension; ++c) {
    EXPECT_EQ(row_gradients[3 * kDimension + c], 3.0f);
    const float first = sample_gradients[2 * kDimension + c];
    const float second = sample_gradients[5 * kDimension + c];
    EXPECT_EQ(row_gradients[kDimension + c], 3.0f + first + second);
  }
}

double SquaredNormOf(const std::vector<float>& gradients, size_t sample) {
  double sum = 0;
  for (size_t c = 0; c < kDimension; ++c) {
    const auto value = static_cast<double>(gradients[sample * kDimension + c]);
    sum += value * value;
  }
  return sum;
}

TEST(EmbeddingKernels, SquaresAddUpWhatEachSampleGivesToARow) {
  test::ForEachTarget([] {
    const std::vector<float> gradients = RandomFloats(kSamples * kDimension, 3);
    std::vector<float> squares(kUnique, 2.0f);
    cpu::ScatterAddSquares(Dense(gradients.data(), kSamples, kDimension), Positions(),
                           {squares.data(), kUnique});
    std::vector<double> expected(kUnique, 2.0);
    for (size_t s = 0; s < kSamples; ++s) expected[positions[s]] += SquaredNormOf(gradients, s);
    for (size_t i = 0; i < kUnique; ++i) EXPECT_NEAR(squares[i], expected[i], 1e-5) << i;
  });
}

// A row that comes twice in a sample's list gets twice the gradient, and four times its square.
TEST(EmbeddingKernels, SquaresOfListsAreOfTheSumThatASampleGivesToARow) {
  for (const bool weighted : {false, true}) {
    test::ForEachTarget([&] {
      const std::vector<float> gradients = RandomFloats(4 * kDimension, 3);
      std::vector<float> squares(kUnique, 2.0f);
      cpu::ScatterAddListSquares(Dense(gradients.data(), 4, kDimension), Lists(weighted),
                                 {squares.data(), kUnique});
      std::vector<double> expected(kUnique, 2.0);
      size_t k = 2;
      for (size_t s = 0; s < list_ends.size(); ++s) {
        std::vector<double> weights(kUnique);
        for (; k < list_ends[s]; ++k) {
          weights[list_indexes[k]] += weighted ? static_cast<double>(list_weights[k]) : 1;
        }
        for (size_t i = 0; i < kUnique; ++i) {
          expected[i] += weights[i] * weights[i] * SquaredNormOf(gradients, s);
        }
      }
      for (size_t i = 0; i < kUnique; ++i) EXPECT_NEAR(squares[i], expected[i], 1e-4) << i;
    });
  }
}

TEST(EmbeddingKernels, AnyWidthOnAnyInstructionSet) {
  test::ForEachTarget([] {
    for (const int64_t width : {1, 3, 8, 16, 31}) {
      const std::vector<float> rows = RandomFloats(static_cast<size_t>(kUnique * width), 1);
      std::vector<float> samples(static_cast<size_t>(kSamples * width));
      cpu::GatherRows(Dense(rows.data(), kUnique, width), Positions(),
                      Dense(samples.data(), kSamples, width));
      std::vector<float> sums(rows.size());
      cpu::ScatterAddRows(Dense(samples.data(), kSamples, width), Positions(),
                          Dense(sums.data(), kUnique, width));
      for (size_t i = 0; i < sums.size(); ++i) {
        const auto times = std::count(positions.begin(), positions.end(),
                                      static_cast<uint32_t>(i / static_cast<size_t>(width)));
        ASSERT_FLOAT_EQ(sums[i], static_cast<float>(times) * rows[i]) << width << " " << i;
      }
    }
  });
}

}  // namespace
}  // namespace weir::kernels

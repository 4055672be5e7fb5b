// The vector kernel against sorting, on every instruction set that this machine has.
#include "common/split/largest_per_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "tests/common/compress/instruction_sets.h"

namespace weir::split {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct PaddedBlock {
  int64_t features, samples, stride;
  std::vector<float> values;

  PaddedBlock(int64_t f, int64_t s, const std::function<float()>& value)
      : features(f),
        samples(s),
        stride(kernels::PaddedStride(s)),
        values(static_cast<size_t>(f * stride), kNan) {  // what lies between must not matter
    for (int64_t i = 0; i < f; ++i) {
      for (int64_t k = 0; k < s; ++k) At(i, k) = value();
    }
  }
  float& At(int64_t feature, int64_t sample) {
    return values[static_cast<size_t>(feature * stride + sample)];
  }
  kernels::ConstMatrixView view() const { return {values.data(), features, samples, stride}; }
};

uint32_t Magnitude(float value) { return std::bit_cast<uint32_t>(value) & 0x7fffffffu; }

std::vector<uint32_t> Plain(PaddedBlock block, int64_t keep) {
  std::vector<uint32_t> positions;
  std::vector<uint32_t> least;
  for (int64_t s = 0; s < block.samples; ++s) {
    std::vector<uint32_t> magnitudes;
    for (int64_t f = 0; f < block.features; ++f) magnitudes.push_back(Magnitude(block.At(f, s)));
    std::ranges::sort(magnitudes, std::greater<>());
    const size_t last = static_cast<size_t>(std::min(keep, block.features)) - 1;
    least.push_back(std::max(1u, magnitudes[last]));
  }
  for (int64_t f = 0; f < block.features; ++f) {
    for (int64_t s = 0; s < block.samples; ++s) {
      if (Magnitude(block.At(f, s)) < least[static_cast<size_t>(s)]) continue;
      positions.push_back(static_cast<uint32_t>(f * block.samples + s));
    }
  }
  return positions;
}

class LargestPerSample : public compress::OnEachInstructionSet {
 protected:
  static void Compare(PaddedBlock block, int64_t keep) {
    Chosen chosen;
    ChooseLargest(block.view(), keep, &chosen);
    const std::vector<uint32_t> positions(chosen.positions().begin(), chosen.positions().end());
    EXPECT_EQ(positions, Plain(block, keep))
        << block.features << " x " << block.samples << ", keep " << keep;
    for (size_t i = 0; i < positions.size(); ++i) {
      const float value = block.At(positions[i] / block.samples, positions[i] % block.samples);
      EXPECT_EQ(std::bit_cast<uint32_t>(chosen.values()[i]), std::bit_cast<uint32_t>(value));
    }
  }
};

TEST_P(LargestPerSample, OfNormalNumbers) {
  RandomStream random(1);
  for (const int64_t features : {1, 2, 7, 64, 256}) {
    for (const int64_t samples : {1, 3, 16, 17, 100, 128}) {
      const PaddedBlock block(features, samples,
                              [&] { return static_cast<float>(random.NextNormal()); });
      for (const int64_t keep : {int64_t{1}, features / 20 + 1, features / 2 + 1, features}) {
        Compare(block, keep);
      }
    }
  }
}

TEST_P(LargestPerSample, ZerosAreNeverKept) {
  RandomStream random(2);
  const PaddedBlock block(64, 33, [&] {
    const double value = random.NextNormal();
    return value < 0.9 ? (random.NextUnit() < 0.5 ? 0.0f : -0.0f) : static_cast<float>(value);
  });
  for (const int64_t keep : {1, 13, 40}) Compare(block, keep);
  const PaddedBlock zeros(20, 5, [] { return 0.0f; });
  Chosen chosen;
  ChooseLargest(zeros.view(), 3, &chosen);
  EXPECT_TRUE(chosen.positions().empty());
  EXPECT_EQ(chosen.thresholds()[0], 0);
}

TEST_P(LargestPerSample, WhatEqualsTheLeastIsKeptToo) {
  RandomStream random(3);
  Compare(PaddedBlock(40, 20, [&] { return static_cast<float>(random.NextBelow(4)) - 1.5f; }), 7);
}

TEST_P(LargestPerSample, OddNumbersAreInOrderToo) {
  RandomStream random(4);
  const std::vector<float> odd = {
      kNan,    -kNan, kInfinity, -kInfinity, 1e-45f,
      -1e-40f, 3e38f, 0.0f,      1.0f,       std::bit_cast<float>(0x7fffffffu),
      -1.0f,   2e-38f};
  Compare(PaddedBlock(30, 50, [&] { return odd[random.NextBelow(odd.size())]; }), 4);
}

TEST_P(LargestPerSample, AThresholdIsTheLeastThatIsKept) {
  const std::vector<float> sample = {0.5f, -3.0f, 2.0f, 1.0f};
  size_t next = 0;
  const PaddedBlock block(4, 1, [&] { return sample[next++]; });
  Chosen chosen;
  ChooseLargest(block.view(), 2, &chosen);
  EXPECT_EQ(chosen.thresholds()[0], 2.0f);
  EXPECT_EQ(std::vector<uint32_t>(chosen.positions().begin(), chosen.positions().end()),
            (std::vector<uint32_t>{1, 2}));
}

TEST_P(LargestPerSample, AThresholdMayBeFarBelowTheLargest) {
  RandomStream random(5);
  for (const float rest : {1e-30f, 1e-3f, 1.0f, 1e20f}) {
    PaddedBlock block(64, 20, [&] { return rest * static_cast<float>(random.NextNormal()); });
    for (int64_t s = 0; s < block.samples; ++s) block.At(s % 64, s) = 3e38f;
    for (const int64_t keep : {1, 2, 5, 60}) Compare(block, keep);
  }
}

TEST_P(LargestPerSample, ItsMemoryIsUsedAgain) {
  RandomStream random(6);
  Chosen chosen;
  for (const auto& [features, samples] :
       std::vector<std::pair<int64_t, int64_t>>{{256, 128}, {3, 5}, {70, 33}, {300, 20}, {1, 1}}) {
    const PaddedBlock block(features, samples,
                            [&] { return static_cast<float>(random.NextNormal()); });
    ChooseLargest(block.view(), 3, &chosen);
    EXPECT_EQ(std::vector<uint32_t>(chosen.positions().begin(), chosen.positions().end()),
              Plain(block, 3));
    EXPECT_EQ(std::ssize(chosen.thresholds()), samples);
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, LargestPerSample, compress::InstructionSets(),
                         compress::InstructionSetName);

}  // namespace
}  // namespace weir::split

#include "common/compress/residual_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace weir::compress {
namespace {

// Element i of the gradient is i, of the residual 0.
class CountingLayer {
 public:
  explicit CountingLayer(int64_t element_count) : residual(element_count) {
    for (int64_t i = 0; i < element_count; ++i) gradient.push_back(static_cast<float>(i));
  }

  std::vector<int64_t> Sampled(const SampleShape& shape, uint64_t key) {
    std::vector<int64_t> indexes;
    ForEachSampled(shape, key, gradient, residual,
                   [&](std::span<const float> kept, std::span<const float> added) {
                     EXPECT_EQ(kept.size(), added.size());
                     EXPECT_LE(std::ssize(added), shape.run_elements);
                     for (const float value : added) {
                       indexes.push_back(static_cast<int64_t>(value));
                     }
                   });
    return indexes;
  }

  Residual residual;
  std::vector<float> gradient;
};

TEST(ResidualSample, IsAllOfASmallLayer) {
  for (const int64_t count : {0, 1, 15, 17, 4096, 4097, 65536}) {
    for (const int64_t run : {1, 16}) {
      CountingLayer layer(count);
      const SampleShape shape{.run_elements = run};
      const std::vector<int64_t> indexes = layer.Sampled(shape, 7);
      ASSERT_EQ(std::ssize(indexes), count);
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(indexes[static_cast<size_t>(i)], i);
      EXPECT_GE(shape.Capacity(count), indexes.size());
    }
  }
}

TEST(ResidualSample, IsOneRunOfEachGroupOfALargeOneAndNotAlwaysTheSame) {
  for (const int64_t count : {65'537, 100'000, 300'001, 1'000'003}) {
    for (const int64_t run : {1, 16}) {
      CountingLayer layer(count);
      const SampleShape shape{.run_elements = run};
      const int64_t stride = shape.Stride(count);
      const std::vector<int64_t> indexes = layer.Sampled(shape, 7);
      const auto share = static_cast<double>(count) / static_cast<double>(stride);
      EXPECT_NEAR(static_cast<double>(indexes.size()), share, 0.03 * share);
      EXPECT_LE(indexes.size(), shape.Capacity(count));
      int64_t last_group = -1;
      std::set<int64_t> places;  // of runs in their groups
      for (size_t i = 0; i < indexes.size(); ++i) {
        if (indexes[i] % run != 0) {
          ASSERT_EQ(indexes[i], indexes[i - 1] + 1);
          continue;
        }
        const int64_t in_stripe = indexes[i] % kStripeElements;
        const int64_t group = indexes[i] - in_stripe + in_stripe / (run * stride);
        ASSERT_GT(group, last_group);
        last_group = group;
        places.insert(in_stripe / run % stride);
      }
      EXPECT_EQ(std::ssize(places), stride);
    }
  }
}

// The columns of a weight with 512 inputs are met about as often as each other in a few steps.
TEST(ResidualSample, MeetsEachColumnOfAWeight) {
  CountingLayer layer(512 * 2000);
  std::vector<int> met(512);
  for (uint64_t key = 0; key < 10; ++key) {
    for (const int64_t index : layer.Sampled({.run_elements = 16}, key)) {
      ++met[static_cast<size_t>(index % 512)];
    }
  }
  EXPECT_GT(std::ranges::min(met), 900);
  EXPECT_LT(std::ranges::max(met), 1700);
}

TEST(ResidualSample, TakesOtherElementsWithAnotherKeyAndAllInTheEnd) {
  CountingLayer layer(200'000);
  const SampleShape shape{.run_elements = 16};
  EXPECT_EQ(layer.Sampled(shape, 1), layer.Sampled(shape, 1));
  EXPECT_NE(layer.Sampled(shape, 1), layer.Sampled(shape, 2));
  std::set<int64_t> taken;
  for (uint64_t key = 0; key < 60; ++key) {
    for (const int64_t index : layer.Sampled(shape, key)) taken.insert(index);
  }
  EXPECT_EQ(std::ssize(taken), 200'000);
}

}  // namespace
}  // namespace weir::compress

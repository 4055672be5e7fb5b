#include "common/compress/residual_sample.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace weir::compress {
namespace {

// Element i of the gradient is i, of the residual 0.
class Layer {
 public:
  explicit Layer(int64_t element_count) : residual(element_count) {
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
      Layer layer(count);
      const SampleShape shape{.run_elements = run};
      const std::vector<int64_t> indexes = layer.Sampled(shape, 7);
      ASSERT_EQ(std::ssize(indexes), count);
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(indexes[static_cast<size_t>(i)], i);
      EXPECT_GE(shape.Capacity(count), indexes.size());
    }
  }
}

TEST(ResidualSample, IsARunOfEachSoManyOfALargeOne) {
  for (const int64_t count : {65'537, 100'000, 300'001, 1'000'003}) {
    for (const int64_t run : {1, 16}) {
      Layer layer(count);
      const SampleShape shape{.run_elements = run};
      const std::vector<int64_t> indexes = layer.Sampled(shape, 7);
      const auto share = static_cast<double>(count) / static_cast<double>(shape.Stride(count));
      EXPECT_LE(share, 65536);
      EXPECT_GE(share, 32768);
      EXPECT_NEAR(static_cast<double>(indexes.size()), share, 0.03 * share);
      EXPECT_LE(indexes.size(), shape.Capacity(count));
      for (size_t i = 1; i < indexes.size(); ++i) {
        ASSERT_LT(indexes[i - 1], indexes[i]);
        ASSERT_TRUE(indexes[i] % run == 0 || indexes[i] == indexes[i - 1] + 1) << indexes[i];
      }
    }
  }
}

TEST(ResidualSample, TakesOtherElementsWithAnotherKeyAndAllInTheEnd) {
  Layer layer(200'000);
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

#include "tools/bench/agree_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace weir::bench {
namespace {

using compress::LayerRange;

TEST(HeapLargest, GivesTheLeastOfTheLargest) {
  compress::Residual first(3), second(4);
  const std::vector<float> values[] = {{1, -7, 3}, {-5, 2, 6, 4}};
  compress::Residual* const both[] = {&first, &second};
  for (size_t i = 0; i < 2; ++i) {
    both[i]->ForEachStripe(
        [&](int64_t, std::span<float> stripe) { std::ranges::copy(values[i], stripe.begin()); });
  }
  HeapLargest heap;
  const std::vector<LayerRange> all = {{0, 0, 3}, {1, 0, 4}};
  EXPECT_EQ(heap.Select(both, all, 3), 5);
  EXPECT_EQ(heap.Select(both, all, 100), 1);
  EXPECT_EQ(heap.Select(both, std::vector<LayerRange>{{1, 1, 3}}, 1), 6);
  EXPECT_EQ(heap.Select(both, std::vector<LayerRange>(), 1), 0);
}

TEST(AgreeShares, HaveEachElementOnceAndTheTargetTogether) {
  const AgreeTensors tensors(0.99);
  for (const int trainers : {2, 32}) {
    for (const auto cost : {compress::DeftCost::kHeap, compress::DeftCost::kElements}) {
      const DeftShares packed = PackDeftShares(tensors, trainers, cost);
      ASSERT_EQ(std::ssize(packed.shares), trainers);
      int64_t elements = 0;
      size_t count = 0;
      for (const AgreeShare& share : packed.shares) {
        for (const AgreePart& part : share) {
          for (const LayerRange& range : part.ranges) elements += range.size();
          count += part.count;
        }
      }
      EXPECT_EQ(elements, tensors.element_count());
      EXPECT_EQ(static_cast<int64_t>(count), tensors.kept());
    }
  }
}

// Of norms that are those of sizes: 2.37 for two trainers, 64.8 for 32 (the paper's model).
TEST(AgreeShares, CostWhatThePapersModelSays) {
  const AgreeTensors tensors(0.99);
  const double whole = CostOf(compress::DeftCost::kHeap, tensors.element_count(), tensors.kept());
  const auto times = [&](int trainers) {
    return whole / PackDeftShares(tensors, trainers, compress::DeftCost::kHeap).costliest;
  };
  EXPECT_NEAR(times(2), 2.37, 0.01);
  EXPECT_NEAR(times(32), 64.8, 0.1);
}

TEST(AgreeShares, AreSelectedAlikeByAHeapAndByOurs) {
  const AgreeTensors tensors(0.999);
  HeapSelection heap(tensors, WholeShare(tensors));
  LinearSelection linear(tensors, WholeShare(tensors));
  heap();
  linear();
  EXPECT_EQ(heap.threshold(), linear.threshold());
  linear();
  EXPECT_EQ(heap.threshold(), linear.threshold()) << "with the last threshold known";
}

}  // namespace
}  // namespace weir::bench

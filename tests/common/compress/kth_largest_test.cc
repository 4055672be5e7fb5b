#include "common/compress/kth_largest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "common/base/random.h"

namespace weir::compress {
namespace {

void ExpectAsSorted(std::vector<float> magnitudes) {
  std::vector<float> sorted = magnitudes;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const size_t step = std::max<size_t>(1, sorted.size() / 40);
  for (size_t k = 1; k <= sorted.size(); k += step) {
    std::vector<float> copy = magnitudes;
    ASSERT_EQ(KthLargest(copy, k), sorted[k - 1]) << k << " of " << sorted.size();
  }
  ASSERT_EQ(KthLargest(magnitudes, magnitudes.size()), sorted.back());
}

TEST(KthLargest, IsThatOfASort) {
  RandomStream random(1);
  for (const size_t size : {1u, 2u, 3u, 4u, 5u, 256u, 257u, 1001u, 20000u}) {
    std::vector<float> magnitudes(size);
    for (float& value : magnitudes) value = static_cast<float>(std::fabs(random.NextNormal()));
    ExpectAsSorted(magnitudes);
  }
}

TEST(KthLargest, IsThatOfASortOverAllScales) {
  RandomStream random(2);
  std::vector<float> magnitudes(3000);
  for (float& value : magnitudes) {
    value = std::ldexp(1.0f + static_cast<float>(random.NextUnit()),
                       static_cast<int>(random.NextBelow(277)) - 150);
  }
  magnitudes[7] = std::numeric_limits<float>::infinity();
  magnitudes[8] = std::numeric_limits<float>::denorm_min();
  magnitudes[9] = 0;
  ExpectAsSorted(magnitudes);
}

TEST(KthLargest, FindsTies) {
  std::vector<float> magnitudes(1000, 1.0f);
  magnitudes[500] = 2.0f;
  ExpectAsSorted(magnitudes);
}

}  // namespace
}  // namespace weir::compress

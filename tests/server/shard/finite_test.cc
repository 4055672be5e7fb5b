#include "server/shard/finite.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace weir::server {
namespace {

using Limits = std::numeric_limits<float>;

TEST(AllFinite, EveryFiniteNumberPasses) {
  EXPECT_TRUE(AllFinite({}));
  const std::vector<float> values = {0.0f,
                                     -0.0f,
                                     1.0f,
                                     Limits::max(),
                                     Limits::lowest(),
                                     Limits::min(),
                                     -Limits::min(),
                                     Limits::denorm_min()};
  EXPECT_TRUE(AllFinite(values));
}

TEST(AllFinite, OneThatIsNotIsFoundWherever) {
  for (const float bad : {Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::signaling_NaN(),
                          Limits::infinity(), -Limits::infinity()}) {
    for (const size_t size : {1, 7, 8, 33}) {
      for (size_t at = 0; at < size; ++at) {
        std::vector<float> values(size, -1.5f);
        values[at] = bad;
        EXPECT_FALSE(AllFinite(values)) << bad << " at " << at << " of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace weir::server

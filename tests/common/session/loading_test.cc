#include "common/session/loading.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::session {
namespace {

v1::Loading Loading(uint64_t done_bytes, uint64_t total_bytes) {
  v1::Loading loading;
  loading.set_done_bytes(done_bytes);
  loading.set_total_bytes(total_bytes);
  return loading;
}

TEST(Loading, IsToldInWholePercent) {
  EXPECT_EQ(DescribeLoading(Loading(0, 1000)), "is loading, 0 %");
  EXPECT_EQ(DescribeLoading(Loading(409, 1000)), "is loading, 40 %");
  EXPECT_EQ(DescribeLoading(Loading(1000, 1000)), "is loading, 100 %");
}

TEST(Loading, NumbersThatCannotBeDoNoHarm) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(DescribeLoading(Loading(0, 0)), "is loading, 0 %");
  EXPECT_EQ(DescribeLoading(Loading(kMost, 1)), "is loading, 100 %");
  EXPECT_EQ(DescribeLoading(Loading(kMost, kMost)), "is loading, 100 %");
}

TEST(LoadingWatch, OnlyMoreThanEverIsProgress) {
  LoadingWatch watch;
  EXPECT_TRUE(watch.HasProgressed(Loading(0, 100))) << "the first word";
  EXPECT_FALSE(watch.HasProgressed(Loading(0, 100)));
  EXPECT_TRUE(watch.HasProgressed(Loading(7, 100)));
  EXPECT_FALSE(watch.HasProgressed(Loading(6, 100)));
  EXPECT_FALSE(watch.HasProgressed(Loading(7, 100)));
  EXPECT_TRUE(watch.HasProgressed(Loading(8, 100)));
}

}  // namespace
}  // namespace weir::session

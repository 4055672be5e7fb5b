#include "common/session/loading.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/common/session/loading.h"

namespace weir::session {
namespace {

TEST(Loading, IsToldInWholePercent) {
  EXPECT_EQ(DescribeLoading(LoadingOf(0, 1000)), "is loading, 0 %");
  EXPECT_EQ(DescribeLoading(LoadingOf(409, 1000)), "is loading, 40 %");
  EXPECT_EQ(DescribeLoading(LoadingOf(1000, 1000)), "is loading, 100 %");
}

TEST(Loading, NumbersThatCannotBeDoNoHarm) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(DescribeLoading(LoadingOf(0, 0)), "is loading, 0 %");
  EXPECT_EQ(DescribeLoading(LoadingOf(kMost, 1)), "is loading, 100 %");
  EXPECT_EQ(DescribeLoading(LoadingOf(kMost, kMost)), "is loading, 100 %");
}

TEST(LoadingWatch, OnlyMoreThanEverIsProgress) {
  LoadingWatch watch;
  EXPECT_TRUE(watch.HasProgressed(LoadingOf(0, 100))) << "the first word";
  EXPECT_FALSE(watch.HasProgressed(LoadingOf(0, 100)));
  EXPECT_TRUE(watch.HasProgressed(LoadingOf(7, 100)));
  EXPECT_FALSE(watch.HasProgressed(LoadingOf(6, 100)));
  EXPECT_FALSE(watch.HasProgressed(LoadingOf(7, 100)));
  EXPECT_TRUE(watch.HasProgressed(LoadingOf(8, 100)));
}

}  // namespace
}  // namespace weir::session

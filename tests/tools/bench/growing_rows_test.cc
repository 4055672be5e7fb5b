#include "tools/bench/growing_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::bench {
namespace {

TEST(GrowingRows, QuantilesAreTimesOfPulls) {
  std::vector<double> times;
  for (int i = 100; i > 0; --i) times.push_back(i);
  const PullTimes pulls(times);
  EXPECT_EQ(pulls.Quantile(0), 1);
  EXPECT_EQ(pulls.Quantile(0.5), 50);
  EXPECT_EQ(pulls.Quantile(0.99), 99);
  EXPECT_EQ(pulls.Quantile(1), 100);
  EXPECT_EQ(PullTimes({3}).Quantile(0.5), 3);
}

TEST(GrowingRows, LinesTellSlowPullsBesideTheSameWhenRowsAreThere) {
  const Result<Lines> lines = GrowingRowLines(20'000);
  ASSERT_TRUE(lines.ok()) << lines.status().message();
  ASSERT_EQ(lines->size(), 3u);
  double last = 0;
  for (const Line& line : *lines) {
    EXPECT_THAT(line.name, testing::StartsWith("store/growing/"));
    EXPECT_GE(line.value, last);
    EXPECT_GT(line.peer_value, 0);
    last = line.value;
  }
}

}  // namespace
}  // namespace weir::bench

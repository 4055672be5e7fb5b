#include "server/coordinator/bound_totals.h"

#include <gtest/gtest.h>

namespace weir::server {
namespace {

void Add(uint32_t trainer, uint64_t pushes, BoundTotals::Reports* reports) {
  v1::BoundedReport& report = *reports->Add();
  report.set_trainer(trainer);
  report.set_pushes(pushes);
  report.set_pieces(10 * pushes);
  report.set_rows(100 * pushes);
}

TEST(BoundTotals, AreTheSumOfWhatServersToldLast) {
  BoundTotals totals;
  EXPECT_TRUE(totals.Sum().empty());
  totals.SetOwn([](BoundTotals::Reports* own) { Add(3, 1, own); });
  BoundTotals::Reports early, late;
  Add(3, 2, &early);
  Add(1, 1, &late);
  Add(3, 5, &late);
  totals.Take(1, early);
  totals.Take(2, early);
  totals.Take(1, late);
  const BoundTotals::Reports sum = totals.Sum();
  ASSERT_EQ(sum.size(), 2);
  EXPECT_EQ(sum[0].trainer(), 1u);
  EXPECT_EQ(sum[0].pushes(), 1u);
  EXPECT_EQ(sum[1].trainer(), 3u);
  EXPECT_EQ(sum[1].pushes(), 1u + 2 + 5);
  EXPECT_EQ(sum[1].pieces(), 80u);
  EXPECT_EQ(sum[1].rows(), 800u);
}

}  // namespace
}  // namespace weir::server

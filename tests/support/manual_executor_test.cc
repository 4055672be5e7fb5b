#include "tests/support/manual_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace weir::test {
namespace {

std::vector<int> OrderOf(ManualExecutor executor) {
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) (void)executor.Begin([&order, i] { order.push_back(i); });
  while (executor.RunOne()) continue;
  return order;
}

TEST(ManualExecutor, RunsOnePieceAtATimeInTheirOrder) {
  ManualExecutor executor;
  std::vector<int> order;
  const auto first = executor.Begin([&] { order.push_back(1); });
  const auto second = executor.Begin([&] { order.push_back(2); });
  EXPECT_FALSE(first->EndsWithin(60'000)) << "nobody waits for what does not go on";
  EXPECT_TRUE(executor.RunOne());
  EXPECT_TRUE(first->EndsWithin(0));
  EXPECT_FALSE(second->EndsWithin(0));
  EXPECT_EQ(executor.waiting(), 1u);
  EXPECT_TRUE(executor.RunOne());
  EXPECT_FALSE(executor.RunOne());
  EXPECT_THAT(order, testing::ElementsAre(1, 2));
}

TEST(ManualExecutor, ASeedChoosesTheOrder) {
  EXPECT_THAT(OrderOf(ManualExecutor()), testing::ElementsAre(0, 1, 2, 3, 4));
  std::set<std::vector<int>> orders;
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    const std::vector<int> order = OrderOf(ManualExecutor(seed));
    EXPECT_EQ(order, OrderOf(ManualExecutor(seed)));
    EXPECT_THAT(order, testing::UnorderedElementsAre(0, 1, 2, 3, 4));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 1u);
}

TEST(ManualExecutor, WhoWaitsForAPieceRunsItOnce) {
  ManualExecutor executor;
  int first = 0, second = 0;
  (void)executor.Begin([&] { ++first; });
  const auto work = executor.Begin([&] { ++second; });
  work->Wait();
  work->Wait();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  while (executor.RunOne()) continue;
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST(ManualExecutor, WorkMayBeginMore) {
  ManualExecutor executor;
  bool done = false;
  (void)executor.Begin([&] { (void)executor.Begin([&] { done = true; }); });
  EXPECT_TRUE(executor.RunOne());
  EXPECT_FALSE(done);
  EXPECT_TRUE(executor.RunOne());
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace weir::test

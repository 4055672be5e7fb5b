#include "common/base/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace weir {
namespace {

TEST(BoundedQueue, IsFirstInFirstOut) {
  BoundedQueue<int> queue(3);
  for (const int item : {1, 2, 3}) EXPECT_TRUE(queue.Push(item));
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.TryPop(), 2);
  EXPECT_EQ(queue.PopFor(1000), 3);
  EXPECT_EQ(queue.TryPop(), std::nullopt);
}

TEST(BoundedQueue, AFullQueueLeavesTheItemWithTheCaller) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  auto first = std::make_unique<int>(1), second = std::make_unique<int>(2);
  EXPECT_TRUE(queue.TryPush(first));
  EXPECT_EQ(first, nullptr);
  EXPECT_FALSE(queue.TryPush(second));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(**queue.Pop(), 1);
  EXPECT_TRUE(queue.TryPush(second));
}

TEST(BoundedQueue, PopForGivesUp) {
  BoundedQueue<int> queue(1);
  EXPECT_EQ(queue.PopFor(1), std::nullopt);
  EXPECT_FALSE(queue.closed());
}

TEST(BoundedQueue, DrainsAfterCloseAndRefusesMore) {
  BoundedQueue<int> queue(2);
  queue.Push(1);
  queue.Push(2);
  queue.Close();
  EXPECT_TRUE(queue.closed());
  int item = 3;
  EXPECT_FALSE(queue.Push(3));
  EXPECT_FALSE(queue.TryPush(item));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.PopFor(1000), 2);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueue, CloseWakesWhoeverWaits) {
  for (int round = 0; round < 50; ++round) {
    BoundedQueue<int> empty(1), full(1);
    full.Push(1);
    std::atomic<int> woken = 0;
    {
      std::vector<std::jthread> waiters;
      waiters.emplace_back([&] { woken += !empty.Pop(); });
      waiters.emplace_back([&] { woken += !empty.PopFor(3'600'000); });
      waiters.emplace_back([&] { woken += !full.Push(2); });
      waiters.emplace_back([&] { woken += !full.Push(3); });
      empty.Close();
      full.Close();
    }
    EXPECT_EQ(woken, 4);
  }
}

TEST(BoundedQueue, NeverHoldsMoreThanItsCapacity) {
  constexpr size_t kCapacity = 4;
  constexpr int kItems = 5000;
  BoundedQueue<int> queue(kCapacity);
  std::atomic<int64_t> sum = 0;
  std::atomic<size_t> largest = 0;
  {
    std::vector<std::jthread> consumers;
    for (int i = 0; i < 2; ++i) {
      consumers.emplace_back([&] {
        while (const auto item = queue.Pop()) sum += *item;
      });
    }
    {
      std::vector<std::jthread> producers;
      for (int i = 0; i < 2; ++i) {
        producers.emplace_back([&] {
          for (int item = 1; item <= kItems; ++item) {
            EXPECT_TRUE(queue.Push(item));
            if (const size_t size = queue.size(); size > largest) largest = size;
          }
        });
      }
    }
    queue.Close();
  }
  EXPECT_LE(largest, kCapacity);
  EXPECT_EQ(sum, int64_t{kItems} * (kItems + 1)) << "each item exactly once";
}

TEST(BoundedQueueDeathTest, NeedsACapacity) { EXPECT_DEATH(BoundedQueue<int>(0), "capacity"); }

}  // namespace
}  // namespace weir

// Rows that are taken again: how old they may be, and which give way.
#include "worker/client/row_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weir::worker {
namespace {

using testing::ElementsAre;

std::vector<float> Found(RowCache& cache, uint32_t table, uint64_t id, uint64_t step) {
  std::vector<float> row(2, -1);
  if (!cache.Find(table, id, step, row)) return {};
  return row;
}

TEST(RowCache, GivesARowUntilItIsTooOld) {
  RowCache cache(100, 3, 2);
  EXPECT_TRUE(Found(cache, 0, 5, 10).empty());
  cache.Put(0, 5, 10, std::vector<float>{1, 2});
  EXPECT_THAT(Found(cache, 0, 5, 10), ElementsAre(1, 2));
  EXPECT_THAT(Found(cache, 0, 5, 12), ElementsAre(1, 2));
  EXPECT_TRUE(Found(cache, 0, 5, 13).empty()) << "three steps old";
  EXPECT_TRUE(Found(cache, 1, 5, 10).empty()) << "another table";
  cache.Put(0, 5, 13, std::vector<float>{3, 4});
  EXPECT_THAT(Found(cache, 0, 5, 15), ElementsAre(3, 4));
  const RowSlots::Counts counts = cache.counts();
  EXPECT_EQ(counts.lookups, 6u);
  EXPECT_EQ(counts.hits, 3u);
  EXPECT_EQ(counts.age_steps, 0u + 2 + 2);
}

TEST(RowCache, AnOlderPullDoesNotReplaceANewerOne) {
  RowCache cache(100, 10, 2);
  cache.Put(0, 5, 8, std::vector<float>{1, 2});
  cache.Put(0, 5, 6, std::vector<float>{3, 4});
  EXPECT_THAT(Found(cache, 0, 5, 9), ElementsAre(1, 2));
}

// However many rows come by, those that are asked for all the time stay.
TEST(RowCache, KeepsWhatIsFoundAndNoMoreThanItsCapacity) {
  constexpr uint64_t kHot = 20;
  RowCache cache(200, 1'000'000, 2);
  for (uint64_t id = 0; id < kHot; ++id) cache.Put(0, id, 0, std::vector<float>{0, 0});
  for (uint64_t step = 1; step < 3000; ++step) {
    cache.Put(1, step, step, std::vector<float>{1, 1});
    for (uint64_t id = 0; id < kHot; ++id) {
      ASSERT_FALSE(Found(cache, 0, id, step).empty()) << "row " << id << " at step " << step;
    }
  }
  size_t cold = 0;
  for (uint64_t step = 1; step < 3000; ++step) cold += Found(cache, 1, step, 3000).empty() ? 0 : 1;
  EXPECT_LE(cold + kHot, 208u) << "a capacity is shared out in whole rows";
  EXPECT_GT(cold, 100u);
}

TEST(RowCache, GivesWholeRowsToManyThreads) {
  RowCache cache(64, 1000, 2);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&cache] {
      for (uint64_t step = 0; step < 2000; ++step) {
        const auto value = static_cast<float>(step);
        cache.Put(0, step % 100, step, std::vector<float>{value, value});
        const std::vector<float> row = Found(cache, 0, (step * 7) % 100, step);
        if (row.empty()) continue;
        ASSERT_EQ(row[0], row[1]);
      }
    });
  }
}

}  // namespace
}  // namespace weir::worker

#include "server/strand.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

namespace weir::server {
namespace {

std::vector<int> CountTo(int end) {
  std::vector<int> numbers(static_cast<size_t>(end));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(Strand, RunsItsTasksInTheOrderTheyWerePosted) {
  StrandArena arena(4);
  Strand strand(&arena);
  std::vector<int> seen;  // without a lock: a strand needs none
  for (int i = 0; i < 5000; ++i) strand.Post([&seen, i] { seen.push_back(i); });
  arena.WaitIdle();
  EXPECT_EQ(seen, CountTo(5000));
}

TEST(Strand, RunsOneTaskAtATime) {
  StrandArena arena(4);
  Strand strand(&arena);
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  for (int i = 0; i < 300; ++i) {
    strand.Post([&] {
      if (inside.fetch_add(1) != 0) ++overlaps;
      std::this_thread::yield();
      --inside;
    });
  }
  arena.WaitIdle();
  EXPECT_EQ(overlaps, 0);
}

TEST(Strand, ManyStrandsKeepTheirOwnOrder) {
  constexpr int kStrands = 64, kTasks = 200;
  StrandArena arena(4);
  std::vector<std::unique_ptr<Strand>> strands;
  std::vector<std::vector<int>> seen(kStrands);
  for (int s = 0; s < kStrands; ++s) strands.push_back(std::make_unique<Strand>(&arena));
  for (int i = 0; i < kTasks; ++i) {
    for (size_t s = 0; s < kStrands; ++s) {
      strands[s]->Post([&seen, s, i] { seen[s].push_back(i); });
    }
  }
  arena.WaitIdle();
  for (const std::vector<int>& tasks : seen) EXPECT_EQ(tasks, CountTo(kTasks));
}

TEST(Strand, TakesTasksFromSeveralThreadsInEachOnesOrder) {
  StrandArena arena(2);
  Strand strand(&arena);
  std::vector<std::vector<int>> seen(3);
  std::vector<std::thread> posters;
  for (size_t p = 0; p < seen.size(); ++p) {
    posters.emplace_back([&, p] {
      for (int i = 0; i < 1000; ++i) strand.Post([&seen, p, i] { seen[p].push_back(i); });
    });
  }
  for (std::thread& poster : posters) poster.join();
  arena.WaitIdle();
  for (const std::vector<int>& tasks : seen) EXPECT_EQ(tasks, CountTo(1000));
}

TEST(Strand, ATaskMayPostToAnotherStrand) {
  StrandArena arena(2);
  Strand first(&arena), second(&arena);
  int done = 0;
  for (int i = 0; i < 100; ++i) {
    first.Post([&] { second.Post([&] { ++done; }); });
  }
  arena.WaitIdle();
  EXPECT_EQ(done, 100);
}

TEST(StrandArena, WaitIdleWaitsForTheTaskThatRuns) {
  StrandArena arena(1);
  Strand strand(&arena);
  bool done = false;
  strand.Post([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done = true;
  });
  arena.WaitIdle();
  EXPECT_TRUE(done);
}

TEST(StrandArenaDeathTest, WithoutMemoryTheProcessEndsAndSaysSo) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        StrandArena arena(2);
        Strand strand(&arena);
        strand.Post([] { throw std::bad_alloc(); });
        arena.WaitIdle();
      },
      testing::ExitedWithCode(1), "error: not enough memory for the rows");
}

TEST(StrandArena, WaitIdleReturnsWhenNothingWasPostedAndMayBeRepeated) {
  StrandArena arena(1);
  arena.WaitIdle();
  Strand strand(&arena);
  int done = 0;
  strand.Post([&] { ++done; });
  arena.WaitIdle();
  strand.Post([&] { ++done; });
  arena.WaitIdle();
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace weir::server

#include "server/shard/strand.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <new>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/check.h"

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

TEST(Strand, WhenIdleItRunsATaskOnTheThreadOfWhoPosts) {
  StrandArena arena(2);
  Strand strand(&arena);
  std::vector<std::thread::id> ran_on;
  for (int i = 0; i < 3; ++i) {
    strand.PostOrRun([&] { ran_on.push_back(std::this_thread::get_id()); });
    ASSERT_EQ(ran_on.size(), static_cast<size_t>(i + 1));
    EXPECT_EQ(ran_on.back(), std::this_thread::get_id());
    // What the arena ran meanwhile leaves it idle again.
    strand.Post([] {});
    arena.WaitIdle();
  }
}

TEST(Strand, WhenBusyItQueuesATaskBehindTheOthers) {
  StrandArena arena(2);
  Strand strand(&arena);
  std::promise<void> begun, release;
  std::vector<int> seen;
  strand.Post([&] {
    begun.set_value();
    release.get_future().wait();
    seen.push_back(0);
  });
  begun.get_future().wait();
  strand.Post([&] { seen.push_back(1); });
  bool on_this_thread = true;
  const std::thread::id poster = std::this_thread::get_id();
  strand.PostOrRun([&] {
    seen.push_back(2);
    on_this_thread = std::this_thread::get_id() == poster;
  });
  release.set_value();
  arena.WaitIdle();
  EXPECT_EQ(seen, CountTo(3));
  EXPECT_FALSE(on_this_thread);
}

TEST(Strand, KeepsEachPostersOrderHoweverTasksArePosted) {
  StrandArena arena(4);
  Strand strand(&arena);
  std::vector<std::pair<size_t, int>> all;  // without a lock or an atomic
  std::vector<std::thread> posters;
  for (size_t p = 0; p < 3; ++p) {
    posters.emplace_back([&, p] {
      for (int i = 0; i < 1000; ++i) {
        auto task = [&all, p, i] { all.emplace_back(p, i); };
        i % 3 == 0 ? strand.Post(task) : strand.PostOrRun(task);
      }
    });
  }
  for (std::thread& poster : posters) poster.join();
  arena.WaitIdle();
  ASSERT_EQ(all.size(), 3000u);
  std::vector<std::vector<int>> seen(3);
  for (const auto& [p, i] : all) seen[p].push_back(i);
  for (const std::vector<int>& tasks : seen) EXPECT_EQ(tasks, CountTo(1000));
}

TEST(Strand, WhoPostsIsNotHeldByAllThatComesMeanwhile) {
  StrandArena arena(2);
  Strand strand(&arena);
  std::vector<int> seen;
  std::vector<std::thread::id> ran_on(100);
  strand.PostOrRun([&] {
    for (int i = 0; i < 100; ++i) {
      strand.Post([&, i] {
        seen.push_back(i);
        ran_on[static_cast<size_t>(i)] = std::this_thread::get_id();
      });
    }
  });
  arena.WaitIdle();
  EXPECT_EQ(seen, CountTo(100));
  EXPECT_NE(ran_on.back(), std::this_thread::get_id());
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

// Until not even the smallest allocation succeeds. Freed memory is kept by its size.
void TakeAllMemory() {
  rlimit limit = {};
  CHECK_EQ(getrlimit(RLIMIT_AS, &limit), 0);
  limit.rlim_cur = 1;
  CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  constexpr size_t kFinestFrom = 4096;
  for (size_t bytes = size_t{1} << 24; bytes >= 8;
       bytes = bytes > kFinestFrom ? bytes / 2 : bytes - 8) {
    while (void* const taken = std::malloc(bytes)) static_cast<volatile char*>(taken)[0] = 1;
  }
}

TEST(StrandArenaDeathTest, WithoutMemoryForItsLastWordsTheProcessEndsAndSaysSo) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "malloc ends the process there when it has nothing";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        StrandArena arena(1);
        arena.SetLastWords([](const Status&) {});
        Strand strand(&arena);
        strand.PostOrRun([] {
          TakeAllMemory();
          throw std::bad_alloc();
        });
      },
      testing::ExitedWithCode(1), "error: not enough memory for the rows");
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
  EXPECT_EXIT(
      {
        StrandArena arena(2);
        Strand strand(&arena);
        strand.PostOrRun([] { throw std::bad_alloc(); });
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

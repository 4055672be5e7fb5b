#include "server/shard/strand.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "tests/support/manual_executor.h"

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

TEST(StrandArena, DoesEachOfManyThingsOnce) {
  StrandArena arena(4);
  std::vector<std::atomic<int>> done(1000);
  arena.ForEach(done.size(), [&](size_t i) { ++done[i]; });
  for (const std::atomic<int>& count : done) EXPECT_EQ(count, 1);
  arena.ForEach(0, [](size_t) { ADD_FAILURE(); });
}

TEST(StrandArena, ThrowsWhatAThingOfManyHasMet) {
  StrandArena arena(4);
  const auto work = [](size_t i) {
    if (i == 7) throw std::bad_alloc();
  };
  EXPECT_THROW(arena.ForEach(100, work), std::bad_alloc);
  arena.ForEach(3, work);  // it can go on
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

TEST(Strand, RunsNothingBeforeItIsToldWhere) {
  StrandArena arena(2);
  Strand strand(&arena);
  EXPECT_FALSE(arena.has_ready());
  bool done = false;
  strand.Post([&] { done = true; });
  EXPECT_TRUE(arena.has_ready());
  EXPECT_FALSE(done);
  arena.WaitIdle();
  EXPECT_FALSE(arena.has_ready());
  EXPECT_TRUE(done);
}

TEST(StrandArena, WorksOnTheThreadOfWhoAsks) {
  StrandArena arena(2);
  Strand first(&arena), second(&arena);
  std::vector<std::pair<int, std::thread::id>> seen;
  const auto see = [&](int task) {
    return [&, task] { seen.emplace_back(task, std::this_thread::get_id()); };
  };
  first.Post(see(0));
  second.Post(see(2));
  first.Post(see(1));
  arena.Work([] { return true; });
  EXPECT_FALSE(arena.has_ready());
  ASSERT_EQ(seen.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(seen[static_cast<size_t>(i)], std::pair(i, std::this_thread::get_id()));
  }
}

TEST(StrandArena, HandsOverWhatTheCallerHasNoTimeFor) {
  StrandArena arena(2);
  Strand first(&arena), second(&arena);
  std::thread::id first_on, second_on;
  first.Post([&] { first_on = std::this_thread::get_id(); });
  second.Post([&] { second_on = std::this_thread::get_id(); });
  arena.Work([] { return false; });
  arena.WaitIdle();
  EXPECT_EQ(first_on, std::this_thread::get_id());
  EXPECT_NE(second_on, std::this_thread::get_id());
  EXPECT_NE(second_on, std::thread::id());
}

TEST(StrandArena, HandsOver) {
  StrandArena arena(2);
  Strand strand(&arena);
  std::promise<std::thread::id> ran_on;
  strand.Post([&] { ran_on.set_value(std::this_thread::get_id()); });
  arena.HandOver();
  EXPECT_NE(ran_on.get_future().get(), std::this_thread::get_id());
  arena.WaitIdle();
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
  arena.HandOver();
  begun.get_future().wait();
  strand.Post([&] { seen.push_back(1); });
  EXPECT_FALSE(arena.has_ready()) << "who runs the strand sees to it";
  release.set_value();
  arena.WaitIdle();
  EXPECT_EQ(seen, CountTo(2));
}

TEST(Strand, KeepsEachPostersOrderWhereverTasksRun) {
  StrandArena arena(4);
  Strand strand(&arena);
  std::vector<std::pair<size_t, int>> all;  // without a lock or an atomic
  std::vector<std::thread> posters;
  for (size_t p = 0; p < 3; ++p) {
    posters.emplace_back([&, p] {
      for (int i = 0; i < 1000; ++i) {
        strand.Post([&all, p, i] { all.emplace_back(p, i); });
        if (i % 3 == 0) arena.HandOver();
        if (i % 3 == 1) arena.Work([] { return true; });
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

TEST(StrandArena, WhoWorksIsNotHeldByAllThatComesMeanwhile) {
  StrandArena arena(2);
  Strand strand(&arena);
  std::vector<int> seen;
  std::vector<std::thread::id> ran_on(100);
  strand.Post([&] {
    for (int i = 0; i < 100; ++i) {
      strand.Post([&, i] {
        seen.push_back(i);
        ran_on[static_cast<size_t>(i)] = std::this_thread::get_id();
      });
    }
  });
  arena.Work([] { return true; });
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

// Two strands with so many tasks each, which say whose turn it was.
std::vector<int> TurnsOf(int tasks, const std::function<void(StrandArena&)>& run) {
  const test::ManualExecutor executor;
  StrandArena arena(4, executor);
  Strand first(&arena), second(&arena);
  std::vector<int> turns;
  const auto here = std::this_thread::get_id();
  for (int i = 0; i < tasks; ++i) {
    for (Strand* const strand : {&first, &second}) {
      strand->Post([&turns, here, number = strand == &first ? 1 : 2] {
        EXPECT_EQ(std::this_thread::get_id(), here);
        turns.push_back(number);
      });
    }
  }
  EXPECT_TRUE(turns.empty());
  EXPECT_TRUE(arena.has_ready());
  run(arena);
  EXPECT_FALSE(arena.has_ready());
  return turns;
}

TEST(StrandArenaWithoutThreads, WhoHandsOverOrWaitsRunsTheStrandsATurnEach) {
  const auto hand_over = [](StrandArena& arena) { arena.HandOver(); };
  EXPECT_EQ(TurnsOf(2, hand_over), (std::vector{1, 1, 2, 2}));
  const std::vector<int> turns = TurnsOf(100, hand_over);
  EXPECT_EQ(turns.size(), 200u);
  EXPECT_NE(std::ranges::find(turns, 2) - turns.begin(), 100) << "each has a few tasks at a time";
  EXPECT_EQ(TurnsOf(100, [](StrandArena& arena) { arena.WaitIdle(); }), turns);
  EXPECT_EQ(TurnsOf(100, [](StrandArena& arena) { arena.Work([] { return true; }); }), turns);
  EXPECT_EQ(TurnsOf(100, [](StrandArena& arena) { arena.Work([] { return false; }); }), turns);
}

TEST(StrandArenaWithoutThreads, DoesEachOfManyThingsOnTheThreadOfWhoAsks) {
  const test::ManualExecutor executor;
  StrandArena arena(4, executor);
  std::vector<size_t> done;
  const auto here = std::this_thread::get_id();
  arena.ForEach(3, [&](size_t i) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    done.push_back(i);
  });
  EXPECT_EQ(done, (std::vector<size_t>{0, 1, 2}));
  EXPECT_THROW(arena.ForEach(3, [](size_t) { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST(StrandArenaWithoutThreads, WhatTasksPostIsRunToo) {
  const test::ManualExecutor executor;
  StrandArena arena(4, executor);
  Strand first(&arena), second(&arena);
  bool done = false;
  first.Post([&] { second.Post([&] { done = true; }); });
  arena.HandOver();
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
        strand.Post([] {
          TakeAllMemory();
          throw std::bad_alloc();
        });
        arena.Work([] { return true; });
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
        strand.Post([] { throw std::bad_alloc(); });
        arena.Work([] { return true; });
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

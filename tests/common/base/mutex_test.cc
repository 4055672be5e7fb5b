#include "common/base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weir {
namespace {

constexpr int64_t kPatienceMs = 120'000;  // for a machine under load

struct Counted {
  void Add() {
    MutexLock lock(mutex);
    ++count;
    changed.NotifyAll();
  }

  Mutex mutex;
  Condition changed;
  int count WEIR_GUARDED_BY(mutex) = 0;
};

TEST(Mutex, IsHeldByOneThreadAtATime) {
  Counted counted;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) counted.Add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  MutexLock lock(counted.mutex);
  EXPECT_EQ(counted.count, 4000);
}

TEST(Condition, LetsGoOfTheMutexWhileItWaits) {
  Counted counted;
  std::thread other([&] { counted.Add(); });
  {
    MutexLock lock(counted.mutex);
    while (counted.count == 0) counted.changed.Wait(lock);
    EXPECT_EQ(counted.count, 1);
  }
  other.join();
}

TEST(Condition, TellsWhetherItIsTooLate) {
  Counted counted;
  std::thread other;
  {
    MutexLock lock(counted.mutex);
    EXPECT_FALSE(counted.changed.WaitUntil(lock, Condition::After(0)));
    const Condition::Time end = Condition::After(kPatienceMs);
    other = std::thread([&] { counted.Add(); });
    bool is_in_time = true;
    while (counted.count == 0 && is_in_time) is_in_time = counted.changed.WaitUntil(lock, end);
    EXPECT_TRUE(is_in_time);
    EXPECT_EQ(counted.count, 1);
  }
  other.join();
}

}  // namespace
}  // namespace weir

#include "common/base/executor.h"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <memory>
#include <thread>

namespace weir {
namespace {

constexpr int64_t kLongMs = 120'000;  // for a machine under load

TEST(Executor, RunsWorkOnAThreadOfItsOwn) {
  std::thread::id ran_on;
  const auto work = Executor::Threads().Begin([&] { ran_on = std::this_thread::get_id(); });
  work->Wait();
  EXPECT_NE(ran_on, std::this_thread::get_id());
  EXPECT_NE(ran_on, std::thread::id());
  EXPECT_TRUE(work->EndsWithin(0));
  work->Wait();  // again changes nothing
}

TEST(Executor, TellsWhetherWorkHasEnded) {
  std::latch go_on(1);
  const auto work = Executor::Threads().Begin([&] { go_on.wait(); });
  EXPECT_FALSE(work->EndsWithin(1));
  go_on.count_down();
  EXPECT_TRUE(work->EndsWithin(kLongMs));
  work->Wait();
}

TEST(Executor, WhoDropsWorkDoesNotWaitForIt) {
  std::promise<void> go_on, ended;
  auto has_ended = ended.get_future();
  auto work = Executor::Threads().Begin(
      [may_go_on = std::make_shared<std::future<void>>(go_on.get_future()),
       ends = std::make_shared<std::promise<void>>(std::move(ended))] {
        may_go_on->wait();
        ends->set_value();
      });
  work.reset();
  go_on.set_value();
  EXPECT_EQ(has_ended.wait_for(std::chrono::milliseconds(kLongMs)), std::future_status::ready);
}

// What the work holds goes before whoever waits for it.
TEST(Executor, WorkHasLetGoOfEverythingOnceItIsWaitedFor) {
  const auto held = std::make_shared<int>(1);
  const auto work = Executor::Threads().Begin([held] {});
  work->Wait();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace weir

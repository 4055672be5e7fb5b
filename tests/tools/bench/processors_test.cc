#include "tools/bench/processors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <future>
#include <string>
#include <thread>

namespace weir::bench {
namespace {

using testing::ElementsAre;

// Where the calling thread may run.
std::vector<int> Allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  std::vector<int> allowed;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) allowed.push_back(i);
  }
  return allowed;
}

TEST(Processors, TwoAreDifferentAndAllowed) {
  const std::vector<int> two = TwoProcessors();
  const std::vector<int> allowed = Allowed();
  ASSERT_EQ(two.size(), std::min<size_t>(2, allowed.size()));
  for (const int processor : two) EXPECT_THAT(allowed, testing::Contains(processor));
  if (two.size() == 2) {
    EXPECT_NE(two[0], two[1]);
  }
}

TEST(Processors, ThreadsThatRunAlreadyMoveAndComeBack) {
  const std::vector<int> before = Allowed();
  for (const int processor : TwoProcessors()) {
    std::promise<void> moved, seen, back;
    std::vector<int> there, afterwards;
    std::thread thread([&] {
      moved.get_future().wait();
      there = Allowed();
      seen.set_value();
      back.get_future().wait();
      afterwards = Allowed();
    });
    {
      const OnProcessors on({processor});
      EXPECT_THAT(Allowed(), ElementsAre(processor));
      moved.set_value();
      seen.get_future().wait();
      std::thread([&] { EXPECT_THAT(Allowed(), ElementsAre(processor)); }).join();
    }
    back.set_value();
    thread.join();
    EXPECT_THAT(there, ElementsAre(processor));
    EXPECT_EQ(afterwards, before);
    EXPECT_EQ(Allowed(), before);
  }
}

TEST(Processors, TwoAreOfTwoCores) {
  const auto pairs = [](int processor) { return std::to_string(processor / 2); };
  EXPECT_THAT(TwoOf({4, 5, 6, 7}, pairs), ElementsAre(4, 6));
  EXPECT_THAT(TwoOf({1, 2, 3}, pairs), ElementsAre(1, 2));
  EXPECT_THAT(TwoOf({6, 7}, pairs), ElementsAre(6, 7)) << "there is no other core";
  EXPECT_THAT(TwoOf({6}, pairs), ElementsAre(6));
  EXPECT_THAT(TwoOf({4, 5}, [](int) { return ""; }), ElementsAre(4, 5)) << "nothing is known";
}

}  // namespace
}  // namespace weir::bench

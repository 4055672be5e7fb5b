#include "worker/push/encode_times.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace weir::worker {
namespace {

TEST(EncodeTimes, ShareOutStepsAsThoseWereThatWereLookedAt) {
  EncodeTimes times;
  times.Add(10, 2, 4);
  times.Add(100, 3, std::nullopt);
  const PushSeconds first = times.Take();
  EXPECT_DOUBLE_EQ(first.encode, 4 + 2 + 40 + 3);
  EXPECT_DOUBLE_EQ(first.select, 6 + 60);
  times.Add(10, 0, 0);
  times.Add(10, 0, std::nullopt);
  const PushSeconds second = times.Take();
  EXPECT_DOUBLE_EQ(second.encode, 2 + 2) << "4 of 20, of both that were looked at";
  EXPECT_DOUBLE_EQ(second.select, 8 + 8);
  EXPECT_EQ(times.Take().sum(), 0);
}

TEST(EncodeTimes, NothingIsWrittenForMoreThanAllOfTheTime) {
  EncodeTimes times;
  times.Add(1, 0, 3);
  EXPECT_EQ(times.Take().select, 0);
}

// The first step is: until then there is no share.
TEST(EncodeTimes, LooksAtOneStepInThirtyOne) {
  EncodeTimes times;
  for (uint64_t step = 0; step < 3 * EncodeTimes::kCloseEvery; ++step) {
    const EncodeTimes::Step of_step(&times);
    const EncodeTimes::Writing writing(&times);
    EXPECT_EQ(times.is_close(), step % EncodeTimes::kCloseEvery == 0) << step;
  }
  EXPECT_FALSE(times.is_close());
}

TEST(EncodeTimes, RowsAreWrittenAlone) {
  EncodeTimes times;
  {
    const EncodeTimes::Step of_step(&times);
    const EncodeTimes::Rows rows(&times);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const PushSeconds taken = times.Take();
  EXPECT_GE(taken.encode, 0.02);
  EXPECT_LT(taken.select, taken.encode);
}

TEST(PushSeconds, AreAddedUp) {
  PushSeconds times{.select = 1, .encode = 2, .waiting = 3, .update = 4};
  times.Add({.select = 10, .encode = 20, .waiting = 30, .update = 40});
  EXPECT_EQ(times.select, 11);
  EXPECT_EQ(times.sum(), 110);
}

}  // namespace
}  // namespace weir::worker

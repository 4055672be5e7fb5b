#include "common/base/clock.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Clock, TheManualOneStandsStillUntilTold) {
  ManualClock clock;
  const int64_t start = clock.NowMs();
  EXPECT_EQ(clock.NowMs(), start);
  clock.Advance(250);
  EXPECT_EQ(clock.NowMs(), start + 250);
}

TEST(AwakeClock, LeavesPausesOut) {
  ManualClock real;
  AwakeClock clock(real, 1000);
  const int64_t start = clock.NowMs();
  for (int i = 0; i < 3; ++i) {
    real.Advance(1000);
    EXPECT_EQ(clock.Look(), start + 1000 * (i + 1));
  }
  real.Advance(70000);
  EXPECT_EQ(clock.Look(), start + 4000) << "as long as it may have been awake";
  real.Advance(5);
  EXPECT_EQ(clock.Look(), start + 4005);
}

// Whoever asks between a pause and the next look must not see it.
TEST(AwakeClock, IsThatOfTheLastLook) {
  ManualClock real;
  AwakeClock clock(real, 1000);
  const int64_t start = clock.Look();
  real.Advance(70000);
  EXPECT_EQ(clock.NowMs(), start);
  EXPECT_EQ(clock.Look(), start + 1000);
  EXPECT_EQ(clock.NowMs(), start + 1000);
}

TEST(AwakeClock, TellsForHowLongItStoodStill) {
  ManualClock real;
  AwakeClock clock(real, 1000);
  real.Advance(999);
  clock.Look();
  EXPECT_EQ(clock.still_ms(), 0);
  for (int i = 0; i < 2; ++i) {
    real.Advance(7000);
    clock.Look();
  }
  EXPECT_EQ(clock.still_ms(), 12000);
}

// That of another machine may say more, or less.
TEST(AwakeClock, GoesOnFromTheTimeOfAnotherProcess) {
  for (const int64_t uptime_ms : {5, 500'000}) {
    ManualClock real;
    real.Advance(uptime_ms);
    AwakeClock clock(real);
    clock.GoOnFrom(7000);
    EXPECT_EQ(clock.NowMs(), 7000);
    real.Advance(10);
    EXPECT_EQ(clock.Look(), 7010);
  }
}

TEST(Clock, TheRealOneDoesNotGoBack) {
  int64_t last_ms = Clock::Real().NowMs();
  double last_seconds = MonotonicSeconds();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_GE(Clock::Real().NowMs(), last_ms);
    EXPECT_GE(MonotonicSeconds(), last_seconds);
    last_ms = Clock::Real().NowMs();
    last_seconds = MonotonicSeconds();
  }
}

}  // namespace
}  // namespace weir

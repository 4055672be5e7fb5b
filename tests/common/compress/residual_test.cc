#include "common/compress/residual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace weir::compress {
namespace {

TEST(Residual, IsZeroAndCutIntoStripesTheLastOneShort) {
  Residual residual(2 * kStripeElements + 3);
  ASSERT_EQ(residual.stripe_count(), 3u);
  for (uint32_t stripe = 0; stripe < 3; ++stripe) {
    const Residual::Guard guard = residual.Lock(stripe);
    EXPECT_EQ(guard.values().size(), stripe < 2 ? kStripeElements : 3);
    EXPECT_THAT(guard.values(), testing::Each(0.0f));
  }
}

TEST(Residual, HasNoStripesWithoutElements) { EXPECT_EQ(Residual(0).stripe_count(), 0u); }

TEST(Residual, StripesDoNotOverlap) {
  Residual residual(3 * kStripeElements);
  for (uint32_t stripe = 0; stripe < 3; ++stripe) {
    const Residual::Guard guard = residual.Lock(stripe);
    for (float& value : guard.values()) value += static_cast<float>(stripe + 1);
  }
  for (uint32_t stripe = 0; stripe < 3; ++stripe) {
    EXPECT_THAT(residual.Lock(stripe).values(), testing::Each(static_cast<float>(stripe + 1)));
  }
}

TEST(Residual, NormIsThatOfAllElements) {
  Residual residual(kStripeElements + 19);
  EXPECT_EQ(residual.Norm(), 0);
  double sum = 0;
  residual.ForEachStripe([&](int64_t first, std::span<float> values) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = (i % 2 == 0 ? 1e-3f : -1e-3f) * static_cast<float>(first + 1 + i);
      sum += double{values[i]} * values[i];
    }
  });
  EXPECT_NEAR(residual.Norm(), std::sqrt(sum), 1e-9);
  EXPECT_TRUE(residual.TryLock(0)) << "it is free again";
}

TEST(Residual, TryLockFailsWhileTheStripeIsHeld) {
  Residual residual(2 * kStripeElements);
  {
    const Residual::Guard guard = residual.Lock(0);
    EXPECT_FALSE(residual.TryLock(0));
    EXPECT_TRUE(residual.TryLock(1)) << "the others are free";
  }
  auto guard = residual.TryLock(0);
  ASSERT_TRUE(guard);
  EXPECT_FALSE(residual.TryLock(0));
}

TEST(Residual, AMovedGuardReleasesOnce) {
  Residual residual(kStripeElements);
  std::optional<Residual::Guard> last;
  {
    Residual::Guard first = residual.Lock(0);
    last.emplace(std::move(first));
  }
  EXPECT_FALSE(residual.TryLock(0)) << "the moved-from guard has nothing to release";
  last.reset();
  EXPECT_TRUE(residual.TryLock(0));
}

TEST(Residual, LockWaitsForTheHolder) {
  Residual residual(kStripeElements);
  std::atomic<bool> released = false;
  auto guard = residual.TryLock(0);
  std::jthread waiter([&] {
    const Residual::Guard second = residual.Lock(0);
    EXPECT_TRUE(released);
    EXPECT_EQ(second.values()[7], 1.0f) << "what the holder wrote is seen";
  });
  guard->values()[7] = 1.0f;
  released = true;
  guard.reset();
}

TEST(Residual, NothingIsLostBetweenThreads) {
  Residual residual(kStripeElements + 10);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&residual] {
        for (int i = 0; i < 2000; ++i) {
          for (uint32_t stripe = 0; stripe < 2; ++stripe) {
            auto guard = residual.TryLock(stripe);
            if (!guard) guard.emplace(residual.Lock(stripe));
            for (float& value : guard->values().first(10)) value += 1.0f;
          }
        }
      });
    }
  }
  for (uint32_t stripe = 0; stripe < 2; ++stripe) {
    EXPECT_THAT(residual.Lock(stripe).values().first(10), testing::Each(8000.0f));
  }
}

}  // namespace
}  // namespace weir::compress

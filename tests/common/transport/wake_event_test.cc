#include "common/transport/wake_event.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <thread>
#include <vector>

namespace weir::transport {
namespace {

bool IsReadable(const WakeEvent& wake, int timeout_ms) {
  pollfd item{wake.fd(), POLLIN, 0};
  return poll(&item, 1, timeout_ms) == 1;
}

TEST(WakeEvent, IsReadableFromSetToClear) {
  WakeEvent wake;
  ASSERT_TRUE(wake.status().ok()) << wake.status();
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(IsReadable(wake, 0));
    wake.Set();
    wake.Set();
    EXPECT_TRUE(IsReadable(wake, 0));
    EXPECT_TRUE(IsReadable(wake, 0));
    wake.Clear();
  }
  wake.Clear();
  EXPECT_FALSE(IsReadable(wake, 0));
}

// Whoever clears the flag looks at what was announced before it, or is woken again.
TEST(WakeEvent, LosesNoAnnouncementOfManyThreads) {
  constexpr int kThreads = 3;
  constexpr int kAnnouncements = 20'000;
  constexpr int kPatienceMs = 30'000;
  WakeEvent wake;
  std::atomic<int> announced{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kAnnouncements; ++i) {
        announced.fetch_add(1, std::memory_order_relaxed);
        wake.Set();
      }
    });
  }
  int seen = 0;
  while (seen < kThreads * kAnnouncements) {
    if (!IsReadable(wake, kPatienceMs)) break;
    wake.Clear();
    seen = announced.load(std::memory_order_relaxed);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, kThreads * kAnnouncements);
}

}  // namespace
}  // namespace weir::transport

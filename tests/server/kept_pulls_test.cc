#include "server/kept_pulls.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::server {
namespace {

KeptPulls::Pull PullOf(uint64_t id) {
  KeptPulls::Pull pull;
  pull.peer = "a peer";
  pull.pull.set_request_id(id);
  return pull;
}

TEST(KeptPulls, AreGivenBackInTheirOrderOnce) {
  KeptPulls pulls;
  ASSERT_TRUE(pulls.Keep(1, PullOf(7)).ok());
  ASSERT_TRUE(pulls.Keep(1, PullOf(8)).ok());
  ASSERT_TRUE(pulls.Keep(2, PullOf(9)).ok());
  const auto taken = pulls.Take(1);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].pull.request_id(), 7u);
  EXPECT_EQ(taken[1].pull.request_id(), 8u);
  EXPECT_TRUE(pulls.Take(1).empty());
}

TEST(KeptPulls, OfABrokenConnectionAreForgotten) {
  KeptPulls pulls;
  ASSERT_TRUE(pulls.Keep(0, PullOf(7)).ok());
  pulls.Drop(0);
  EXPECT_TRUE(pulls.Take(0).empty());
}

TEST(KeptPulls, HaveABound) {
  KeptPulls pulls;
  for (uint64_t id = 0; id < 16; ++id) ASSERT_TRUE(pulls.Keep(0, PullOf(id)).ok());
  EXPECT_FALSE(pulls.Keep(0, PullOf(16)).ok());
}

}  // namespace
}  // namespace weir::server

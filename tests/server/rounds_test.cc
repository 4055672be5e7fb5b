#include "server/rounds.h"

#include <gtest/gtest.h>

namespace weir::server {
namespace {

RoundSender Sender(uint32_t trainer) {
  return {.trainer = trainer, .peer = "peer", .connection = 1, .round = 1, .members = {0, 1}};
}

TEST(Rounds, TellWhoWaitsEverySecond) {
  Rounds rounds;
  rounds.Begin(1000);
  ASSERT_TRUE(rounds.pushes().Keep(Sender(0), {}).ok());
  EXPECT_EQ(rounds.TakeNotices(5000).size(), 1u);
  EXPECT_TRUE(rounds.TakeNotices(5999).empty());
  EXPECT_EQ(rounds.TakeNotices(6000).size(), 1u);
}

TEST(Rounds, ForgetAllThatIsOnItsWayAgain) {
  Rounds rounds;
  ASSERT_TRUE(rounds.proposals().Keep(Sender(0), {}, {}).ok());
  ASSERT_TRUE(rounds.pushes().Keep(Sender(0), {}).ok());
  ASSERT_TRUE(rounds.pulls().Keep(0, {}).ok());
  EXPECT_EQ(rounds.TakeNotices(1).size(), 2u);
  rounds.Drop(0);
  EXPECT_TRUE(rounds.TakeNotices(2000).empty());
  EXPECT_TRUE(rounds.pulls().Take(0).empty());
}

}  // namespace
}  // namespace weir::server

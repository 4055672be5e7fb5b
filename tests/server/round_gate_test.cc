#include "server/round_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Gate = RoundGate<std::string>;

RoundSender Push(uint32_t trainer, uint64_t round, const std::vector<uint32_t>& members) {
  v1::Push push;
  push.set_connection(7);
  push.set_round(round);
  push.mutable_members()->Add(members.begin(), members.end());
  return SenderOf(trainer, "peer " + std::to_string(trainer), push);
}

TEST(RoundGate, GivesAWholeRoundByTrainersNumbers) {
  Gate gate("push");
  EXPECT_TRUE(gate.Keep(Push(4, 1, {0, 4}), "what it sent").ok());
  EXPECT_TRUE(gate.IsKept(4));
  EXPECT_TRUE(gate.Close().empty());
  EXPECT_TRUE(gate.Keep(Push(0, 1, {0, 4}), "what it sent").ok());
  const auto round = gate.Close();
  ASSERT_EQ(round.size(), 2u);
  EXPECT_EQ(round[0].sender.trainer, 0u);
  EXPECT_EQ(round[1].sender.peer, "peer 4");
  EXPECT_EQ(round[1].payload, "what it sent");
  EXPECT_FALSE(gate.IsKept(4));
}

TEST(RoundGate, TellsWhoWaitsForWhom) {
  Gate gate("push");
  ASSERT_TRUE(gate.Keep(Push(1, 3, {0, 1, 2}), "what it sent").ok());
  const auto notices = gate.Notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].peer, "peer 1");
  EXPECT_EQ(notices[0].notice.connection(), 7u);
  EXPECT_EQ(notices[0].notice.round(), 3u);
  EXPECT_THAT(notices[0].notice.awaited(), ElementsAre(0, 2));
}

TEST(RoundGate, GoesOnWithoutWhoIsGone) {
  Gate gate("push");
  ASSERT_TRUE(gate.Keep(Push(0, 1, {0, 1}), "what it sent").ok());
  v1::Departure departure;
  departure.set_trainer(1);
  departure.set_last_round(8);
  gate.Leave(departure);
  EXPECT_EQ(gate.Close().size(), 1u);
  EXPECT_THAT(gate.Keep(Push(1, 1, {0, 1}), "what it sent").message(),
              HasSubstr("round 1 went on without trainer 1"));
}

TEST(RoundGate, SaysWhatIsWrongWithAPush) {
  Gate gate("push");
  EXPECT_THAT(gate.Keep(Push(3, 1, {0, 1}), "what it sent").message(),
              HasSubstr("in which trainer 3 is not"));
  ASSERT_TRUE(gate.Keep(Push(0, 1, {0, 1}), "what it sent").ok());
  EXPECT_THAT(gate.Keep(Push(1, 1, {0, 1, 2}), "what it sent").message(),
              HasSubstr("other trainers"));
}

TEST(RoundGate, WhatIsOnItsWayAgainIsNotKept) {
  Gate gate("push");
  ASSERT_TRUE(gate.Keep(Push(0, 1, {0, 1}), "what it sent").ok());
  gate.Drop(0);
  EXPECT_FALSE(gate.IsKept(0));
  ASSERT_TRUE(gate.Keep(Push(1, 1, {0, 1}), "what it sent").ok());
  EXPECT_TRUE(gate.Close().empty());
}

}  // namespace
}  // namespace weir::server

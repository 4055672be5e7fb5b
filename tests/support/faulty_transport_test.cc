#include "tests/support/faulty_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "common/transport/loopback.h"

namespace weir::transport {
namespace {

constexpr int64_t kLongMs = 30'000;
constexpr char kAddress[] = "inproc://server";

Message NumberMessage(int number) {
  const std::string text = std::to_string(number);
  return {{Part(Bytes(text.begin(), text.end()))}};
}

int Number(const Message& message) {
  const ByteSpan span = message.parts.at(0).span();
  return std::stoi(std::string(span.begin(), span.end()));
}

class FaultyTransport : public testing::Test {
 protected:
  FaultyTransport() : server_(network_.MakeServer()) { EXPECT_TRUE(server_->Bind(kAddress).ok()); }

  void Start(const FaultPlan& plan) {
    client_ = std::make_unique<FaultyClientTransport>(network_.MakeClient(), plan);
    connection_ = client_->Open(kAddress).value();
  }

  void Send(int number) { ASSERT_TRUE(client_->Send(connection_, NumberMessage(number)).ok()); }

  // Sends 1..count one by one. Returns what reaches the server, and, negated, what comes back of
  // its answers.
  std::vector<int> Exchange(int count) {
    std::vector<int> seen;
    for (int i = 1; i <= count; ++i) {
      Send(i);
      while (auto incoming = server_->Receive(0)) {
        seen.push_back(Number(incoming->message));
        EXPECT_TRUE(server_->Send(incoming->peer, NumberMessage(seen.back())).ok());
      }
      while (auto answer = client_->Receive(0)) {
        EXPECT_EQ(answer->connection, connection_);
        seen.push_back(-Number(answer->message));
      }
    }
    return seen;
  }

  LoopbackNetwork network_;
  std::unique_ptr<ServerTransport> server_;
  std::unique_ptr<FaultyClientTransport> client_;
  ConnectionId connection_ = 0;
};

TEST_F(FaultyTransport, WithoutFaultsChangesNothing) {
  Start({});
  std::vector<int> expected;
  for (int i = 1; i <= 50; ++i) expected.insert(expected.end(), {i, -i});
  EXPECT_EQ(Exchange(50), expected);
  EXPECT_EQ(client_->counts().breaks + client_->counts().drops + client_->counts().duplicates, 0);
}

TEST_F(FaultyTransport, SameSeedGivesSameFaults) {
  FaultPlan plan{
      .seed = 5, .break_probability = 0.05, .drop_probability = 0.1, .duplicate_probability = 0.1};
  Start(plan);
  const std::vector<int> first = Exchange(500);
  const FaultCounts first_counts = client_->counts();
  EXPECT_GT(first_counts.breaks, 0);
  EXPECT_GT(first_counts.drops, 0);
  EXPECT_GT(first_counts.duplicates, 0);

  Start(plan);
  EXPECT_EQ(Exchange(500), first);
  EXPECT_EQ(client_->counts().breaks, first_counts.breaks);

  plan.seed = 6;
  Start(plan);
  EXPECT_NE(Exchange(500), first);
}

TEST_F(FaultyTransport, FaultsComeAtTheirRate) {
  Start({.drop_probability = 0.25});
  Exchange(4000);
  // Answers to what arrived are drawn too: 4000 + 3000 messages, 1750 lost, deviation 36.
  EXPECT_NEAR(static_cast<double>(client_->counts().drops), 1750, 180);
}

TEST_F(FaultyTransport, BreakLosesBothDirectionsAndMakesANewPeer) {
  Start({});
  Send(1);
  const PeerId before = server_->Receive(kLongMs).value().peer;
  ASSERT_TRUE(server_->Send(before, NumberMessage(2)).ok());
  Send(3);
  client_->BreakAll();
  EXPECT_FALSE(server_->Receive(0).has_value());
  EXPECT_FALSE(client_->Receive(0).has_value());
  EXPECT_EQ(server_->Send(before, NumberMessage(4)).code(), StatusCode::kNotFound);

  Send(5);
  const IncomingMessage after = server_->Receive(kLongMs).value();
  EXPECT_EQ(Number(after.message), 5);
  EXPECT_NE(after.peer, before);
  ASSERT_TRUE(server_->Send(after.peer, NumberMessage(6)).ok());
  const ConnectionMessage answer = client_->Receive(kLongMs).value();
  EXPECT_EQ(answer.connection, connection_);
  EXPECT_EQ(Number(answer.message), 6);
}

TEST_F(FaultyTransport, WhatHasNotLeftMayOutliveABreak) {
  for (const double late : {0.0, 1.0}) {
    Start({.late_probability = late, .max_delay_ms = 1'000'000});
    Send(1);
    client_->BreakAll();
    client_.reset();
    EXPECT_EQ(server_->Receive(0).has_value(), late == 1);
  }
}

TEST_F(FaultyTransport, DuplicatesArriveNextToEachOther) {
  Start({.duplicate_probability = 1});
  EXPECT_EQ(Exchange(2), (std::vector<int>{1, 1, -1, -1, -1, -1, 2, 2, -2, -2, -2, -2}));
}

TEST_F(FaultyTransport, AFlipIsOfOneBit) {
  Start({.flip_probability = 1});
  for (int i = 0; i < 100; ++i) {
    Send(1234567);
    const Message sent = NumberMessage(1234567), came = server_->Receive(kLongMs).value().message;
    ASSERT_EQ(came.parts[0].size(), sent.parts[0].size());
    int bits = 0;
    for (size_t byte = 0; byte < sent.parts[0].size(); ++byte) {
      bits += std::popcount(
          static_cast<uint8_t>(sent.parts[0].span()[byte] ^ came.parts[0].span()[byte]));
    }
    ASSERT_EQ(bits, 1);
  }
  EXPECT_EQ(client_->counts().flips, 100);
}

TEST_F(FaultyTransport, OnlySoManyAreFlippedOneBehindTheOther) {
  Start({.flip_probability = 1, .most_flips = 2});
  for (int i = 1; i <= 9; ++i) {
    Send(1234567);
    const Message came = server_->Receive(kLongMs).value().message;
    const bool is_whole =
        std::ranges::equal(came.parts[0].span(), NumberMessage(1234567).parts[0].span());
    EXPECT_EQ(is_whole, i % 3 == 0) << i;
  }
  EXPECT_EQ(client_->counts().flips, 6);
}

TEST_F(FaultyTransport, DelaysKeepOrderAndLoseNothing) {
  constexpr int kMessages = 100;
  Start({.max_delay_ms = 5});
  for (int i = 0; i < kMessages; ++i) Send(i);
  int at_server = 0;
  int at_client = 0;
  while (at_client < kMessages) {
    while (auto incoming = server_->Receive(0)) {
      ASSERT_EQ(Number(incoming->message), at_server++);
      ASSERT_TRUE(server_->Send(incoming->peer, std::move(incoming->message)).ok());
    }
    if (auto answer = client_->Receive(10)) {
      ASSERT_EQ(Number(answer->message), at_client++);
    }
  }
  EXPECT_GT(client_->counts().delays, 0);
}

TEST_F(FaultyTransport, DelayedMessagesLeaveWhenItIsDestroyed) {
  Start({.max_delay_ms = 1'000'000});
  for (int i = 0; i < 3; ++i) Send(i);
  client_.reset();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Number(server_->Receive(kLongMs).value().message), i);
}

TEST_F(FaultyTransport, WakeEndsReceive) {
  Start({.max_delay_ms = 1'000'000});
  Send(1);
  client_->Wake();
  EXPECT_FALSE(client_->Receive(100 * kLongMs).has_value());
}

}  // namespace
}  // namespace weir::transport

#include "worker/pipeline/in_flight.h"

#include <gtest/gtest.h>

namespace weir::worker {
namespace {

std::unique_ptr<int> Batch(int number) { return std::make_unique<int>(number); }

TEST(InFlight, HasCreditForItsLimit) {
  InFlight<int> in_flight(2);
  const uint64_t a = in_flight.TakeNumber(), b = in_flight.TakeNumber();
  EXPECT_NE(a, b);
  EXPECT_FALSE(in_flight.has_credit()) << "what is being computed counts";
  in_flight.Add(a, Batch(1), 10);
  in_flight.Add(b, Batch(2), 20);
  EXPECT_FALSE(in_flight.has_credit());
  EXPECT_EQ(*in_flight.Remove(a), 1);
  EXPECT_TRUE(in_flight.has_credit());
  EXPECT_EQ(in_flight.Remove(a), nullptr) << "it came back already";
  EXPECT_EQ(in_flight.Remove(77), nullptr);
}

TEST(InFlight, WhatIsLostWaitsToStartAnew) {
  InFlight<int> in_flight(3);
  const uint64_t a = in_flight.TakeNumber(), b = in_flight.TakeNumber();
  in_flight.Add(a, Batch(1), 10);
  in_flight.LoseAll();
  in_flight.Lose(Batch(2));  // b was being computed
  EXPECT_TRUE(in_flight.has_credit());
  EXPECT_EQ(in_flight.count(), 0u);
  EXPECT_EQ(in_flight.Remove(a), nullptr);
  EXPECT_EQ(in_flight.Remove(b), nullptr);
  ASSERT_TRUE(in_flight.has_lost());
  EXPECT_EQ(*in_flight.TakeLost(), 1);
  EXPECT_EQ(*in_flight.TakeLost(), 2);
  EXPECT_FALSE(in_flight.has_lost());
}

TEST(InFlight, KnowsTheOldest) {
  InFlight<int> in_flight(3);
  EXPECT_FALSE(in_flight.oldest_ms().has_value());
  const uint64_t a = in_flight.TakeNumber(), b = in_flight.TakeNumber();
  in_flight.Add(a, Batch(1), 10);
  in_flight.Add(b, Batch(2), 20);
  EXPECT_EQ(in_flight.oldest_ms(), 10);
  in_flight.Remove(a);
  EXPECT_EQ(in_flight.oldest_ms(), 20);
}

}  // namespace
}  // namespace weir::worker

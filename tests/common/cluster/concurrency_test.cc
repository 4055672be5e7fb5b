#include "common/cluster/concurrency.h"

#include <gtest/gtest.h>

namespace weir::cluster {
namespace {

TEST(Concurrency, BeginsWithOneBatchAndGrowsWithTheSteps) {
  Concurrency concurrency(100, 0);
  EXPECT_EQ(concurrency.allowed(), 1u);
  concurrency.Reach(99);
  EXPECT_EQ(concurrency.allowed(), 1u);
  concurrency.Reach(100);
  EXPECT_EQ(concurrency.allowed(), 2u);
  concurrency.Reach(12'345);
  EXPECT_EQ(concurrency.allowed(), 124u);
}

TEST(Concurrency, DoesNotFallBack) {
  Concurrency concurrency(10, 0);
  concurrency.Reach(50);
  concurrency.Reach(20);
  EXPECT_EQ(concurrency.allowed(), 6u);
}

// Of a run that goes on from a model: the optimizer of the model's steps is not its own.
TEST(Concurrency, CountsFromTheStepThatItBeginsAfter) {
  Concurrency concurrency(10, 0);
  concurrency.BeginAfter(5000);
  EXPECT_EQ(concurrency.allowed(), 1u);
  concurrency.Reach(5019);
  EXPECT_EQ(concurrency.allowed(), 2u);
  concurrency.Reach(5020);
  EXPECT_EQ(concurrency.allowed(), 3u);
}

TEST(Concurrency, IsBounded) {
  Concurrency concurrency(10, 3);
  concurrency.Reach(1000);
  EXPECT_EQ(concurrency.allowed(), 3u);
}

TEST(Concurrency, WithoutAWarmUpIsWholeFromTheStart) {
  EXPECT_EQ(Concurrency(0, 0).allowed(), Concurrency::kUnlimited);
  EXPECT_EQ(Concurrency(0, 5).allowed(), 5u);
}

TEST(Concurrency, IsSharedByTheTrainersAtWork) {
  Concurrency concurrency(1, 0);
  concurrency.Reach(32);
  EXPECT_EQ(concurrency.ShareOfEach(16), 2u);
  EXPECT_EQ(concurrency.ShareOfEach(17), 1u);
  EXPECT_EQ(concurrency.ShareOfEach(100), 1u) << "who is at work has a batch";
  EXPECT_EQ(concurrency.ShareOfEach(0), 33u);
}

}  // namespace
}  // namespace weir::cluster

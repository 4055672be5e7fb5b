#include "server/shard/gradient_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace weir::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// Element of the piece -> its mean.
std::map<int64_t, float> TakeAll(GradientSum* sum, size_t worker_count) {
  std::map<int64_t, float> means;
  sum->TakeMean(worker_count, [&](const wire::StripeUpdate& update) {
    for (size_t i = 0; i < update.values.size(); ++i) {
      means[update.stripe * kStripeElements + (update.dense ? i : update.indexes[i])] =
          update.values[i];
    }
  });
  return means;
}

void AddSparse(GradientSum* sum, uint32_t stripe, const std::vector<uint16_t>& indexes,
               const std::vector<float>& values) {
  sum->Add({.stripe = stripe, .dense = false, .indexes = indexes, .values = values});
}

TEST(GradientSum, IsTheMeanOverAllWorkers) {
  GradientSum sum;
  sum.Resize(kStripeElements + 10);
  AddSparse(&sum, 1, {2, 9}, {3, 1});
  AddSparse(&sum, 0, {0}, {-8});
  AddSparse(&sum, 1, {9}, {4});
  EXPECT_THAT(TakeAll(&sum, 4), ElementsAre(Pair(0, -2), Pair(kStripeElements + 2, 0.75f),
                                            Pair(kStripeElements + 9, 1.25f)));
}

TEST(GradientSum, WhatAddsUpToNothingIsStillGiven) {
  GradientSum sum;
  sum.Resize(8);
  AddSparse(&sum, 0, {3}, {1});
  AddSparse(&sum, 0, {3}, {-1});
  EXPECT_THAT(TakeAll(&sum, 2), ElementsAre(Pair(3, 0)));
}

TEST(GradientSum, ADenseStripeGivesAllOfIt) {
  GradientSum sum;
  sum.Resize(3);
  AddSparse(&sum, 0, {1}, {5});
  const std::vector<float> all = {2, 1, 0};
  sum.Add({.stripe = 0, .dense = true, .indexes = {}, .values = all});
  EXPECT_THAT(TakeAll(&sum, 2), ElementsAre(Pair(0, 1), Pair(1, 3), Pair(2, 0)));
}

// One for all pieces of a thread.
TEST(GradientSum, BeginsAnewWithEachPiece) {
  GradientSum sum;
  sum.Resize(2 * kStripeElements);
  AddSparse(&sum, 1, {7}, {1});
  TakeAll(&sum, 1);
  sum.Resize(5);
  AddSparse(&sum, 0, {4}, {6});
  EXPECT_THAT(TakeAll(&sum, 2), ElementsAre(Pair(4, 3)));
  sum.Resize(2 * kStripeElements);
  EXPECT_THAT(TakeAll(&sum, 1), IsEmpty());
}

}  // namespace
}  // namespace weir::server

// What is kept of rows: nothing is lost, what is worth it leaves, what is old leaves as well.
#include "common/compress/row_residual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include "common/base/random.h"
#include "common/config/defaults.h"

namespace weir::compress {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kDimension = 2;

RowTest When(std::optional<float> threshold, std::optional<float> alpha, uint64_t max_age = 1000,
             size_t max_rows = 1000) {
  return {.threshold = threshold,
          .alpha = alpha,
          .decay = 0.5f,
          .max_age = max_age,
          .max_rows = max_rows};
}

SentRows Step(RowResidual& residual, const std::vector<uint64_t>& ids,
              const std::vector<float>& values, const std::vector<float>& squares = {}) {
  SentRows sent;
  residual.Take({ids, values, squares}, &sent);
  return sent;
}

TEST(RowResidual, SendsARowWhoseNormReachesTheThreshold) {
  RowResidual residual(When(5, std::nullopt), kDimension, wire::ValueCoding::kF32);
  const SentRows first = Step(residual, {3, 8}, {3, 4, 3, 3});
  EXPECT_THAT(first.ids, ElementsAre(3));
  EXPECT_THAT(first.values, ElementsAre(3, 4));
  EXPECT_THAT(residual.KeptOf(8), ElementsAre(3, 3));
  const SentRows second = Step(residual, {8}, {1, 1});
  EXPECT_THAT(second.values, ElementsAre(4, 4)) << "what was kept leaves with it";
  EXPECT_THAT(residual.KeptOf(8), ElementsAre(0, 0));
  const RowCounts counts = residual.counts();
  EXPECT_EQ(counts.gradients, 3u);
  EXPECT_EQ(counts.sent, 2u);
  EXPECT_EQ(counts.kept_steps, 1u);
}

// As a state of a run whose rows might wait longer brings them.
TEST(RowResidual, SendsRowsThatAreAllOldOverSeveralSteps) {
  constexpr uint64_t kRows = 5000;
  RowResidual before(When(1e9f, std::nullopt, 1000, kRows), kDimension, wire::ValueCoding::kF32);
  std::vector<uint64_t> ids(kRows);
  std::iota(ids.begin(), ids.end(), uint64_t{0});
  Step(before, ids, std::vector<float>(kRows * kDimension, 1));
  Bytes state;
  ByteWriter writer(state);
  before.Save(&writer);
  RowResidual residual(When(1e9f, std::nullopt, 1, kRows), kDimension, wire::ValueCoding::kF32);
  ByteReader reader(state);
  ASSERT_TRUE(residual.Load(&reader).ok());
  EXPECT_EQ(residual.counts().waiting, kRows);
  std::vector<uint64_t> sent;
  for (int step = 0; residual.counts().waiting > 0; ++step) {
    ASSERT_LT(step, 10);
    const SentRows rows = Step(residual, {}, {});
    EXPECT_LE(rows.ids.size(), 1024u);
    sent.insert(sent.end(), rows.ids.begin(), rows.ids.end());
  }
  EXPECT_EQ(sent, ids) << "the oldest first, and none twice";
  EXPECT_TRUE(residual.empty());
}

// |r|^2 > alpha v: 1 > 1, no, v = 0.5; 4 > 1.5, yes, and v starts anew.
TEST(RowResidual, SendsARowThatExceedsItsNoise) {
  RowResidual residual(When(std::nullopt, 1), kDimension, wire::ValueCoding::kF32);
  EXPECT_THAT(Step(residual, {1}, {1, 0}, {1}).ids, IsEmpty());
  EXPECT_THAT(Step(residual, {1}, {1, 0}, {1}).values, ElementsAre(2, 0));
  EXPECT_THAT(Step(residual, {1}, {1, 0}, {1}).ids, IsEmpty());
}

TEST(RowResidual, SendsWhatIsOldInTheOrderOfIds) {
  RowResidual residual(When(100, std::nullopt, 3), kDimension, wire::ValueCoding::kF32);
  EXPECT_THAT(Step(residual, {7, 9}, {1, 2, 3, 4}).ids, IsEmpty());
  EXPECT_THAT(Step(residual, {2}, {5, 6}).ids, IsEmpty());
  EXPECT_EQ(residual.counts().waiting, 3u);
  EXPECT_THAT(Step(residual, {7}, {1, 1}).ids, IsEmpty());
  const SentRows old = Step(residual, {8}, {200, 0});  // step 3: those of step 0 have waited for 3
  EXPECT_THAT(old.ids, ElementsAre(7, 8, 9));
  EXPECT_THAT(old.values, ElementsAre(2, 3, 200, 0, 3, 4));
  EXPECT_THAT(Step(residual, {}, {}).ids, ElementsAre(2));
  EXPECT_EQ(residual.counts().sent_for_age, 3u);
  EXPECT_EQ(residual.counts().kept_steps, 9u);
}

TEST(RowResidual, KeepsWhatRoundingTakes) {
  RowResidual residual(When(0, std::nullopt), 1, wire::ValueCoding::kBf16);
  const float third = 1.0f / 3;
  double sum = 0;
  for (int step = 0; step < 300; ++step) {
    const SentRows sent = Step(residual, {4}, {third});
    ASSERT_EQ(sent.values.size(), 1u);
    EXPECT_EQ(sent.values[0], wire::RoundToBf16(sent.values[0]));
    sum += static_cast<double>(sent.values[0]);
  }
  EXPECT_NEAR(sum + static_cast<double>(residual.KeptOf(4)[0]), 100, 1e-3);
  EXPECT_NEAR(sum, 100, 0.002) << "and not 0.4 % too much or too little";
}

TEST(RowResidual, CountsWhatRoundingTakesFromRowsWithoutRoom) {
  RowResidual residual(When(0, std::nullopt, 1000, 1), 1, wire::ValueCoding::kBf16);
  const float odd = 1 + 0x1p-10f;
  Step(residual, {1, 2}, {odd, odd});
  EXPECT_EQ(residual.KeptOf(1)[0], 0) << "gave way";
  EXPECT_EQ(residual.KeptOf(2)[0], 0x1p-10f);
  EXPECT_EQ(residual.counts().discarded_l1, 0x1p-10);
}

TEST(RowResidual, SendsAtOnceWhatItHasNoRoomFor) {
  RowResidual residual(When(100, std::nullopt, 1000, 1), 1, wire::ValueCoding::kF32);
  EXPECT_THAT(Step(residual, {1, 2}, {3, 4}).ids, ElementsAre(2));
  EXPECT_EQ(residual.KeptOf(1)[0], 3);
}

// However many rows come by and go, as bf16: what is kept of those that left gives way to new ones.
TEST(RowResidual, StaysLazyWhenItHasSeenMoreRowsThanItKeeps) {
  RowResidual residual(When(3, std::nullopt, 1000, 10), 1, wire::ValueCoding::kBf16);
  const float odd = 5 + 0x1p-10f;
  for (uint64_t id = 0; id < 200; ++id) {
    EXPECT_THAT(Step(residual, {id}, {odd}).ids, ElementsAre(id));
  }
  for (uint64_t id = 1000; id < 1005; ++id) {
    EXPECT_THAT(Step(residual, {id}, {1}).ids, IsEmpty()) << id;
    EXPECT_EQ(residual.KeptOf(id)[0], 1);
  }
}

TEST(RowResidual, SendsTheOldestOfWhatCameBeyondItsRoomWithoutCredit) {
  for (const wire::ValueCoding coding : {wire::ValueCoding::kF32, wire::ValueCoding::kBf16}) {
    RowResidual residual(When(100, std::nullopt, 1000, 2), 1, coding);
    const float odd = 1 + 0x1p-10f;
    for (uint64_t id = 1; id <= 5; ++id) {
      const std::vector<uint64_t> ids = {id};
      const std::vector<float> values = {odd};
      residual.Accumulate({ids, values, {}});
    }
    EXPECT_THAT(Step(residual, {5}, {1}).ids, ElementsAre(1, 2, 3));
    EXPECT_EQ(residual.KeptOf(1)[0], 0);
    EXPECT_EQ(residual.KeptOf(4)[0], odd);
    EXPECT_EQ(residual.KeptOf(5)[0], odd + 1);
  }
}

TEST(RowResidual, SendsWhatIsNoNumber) {
  RowResidual residual(When(100, std::nullopt), 1, wire::ValueCoding::kF32);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const SentRows sent = Step(residual, {1, 2}, {nan, std::numeric_limits<float>::infinity()});
  EXPECT_THAT(sent.ids, ElementsAre(1, 2)) << "so that whoever applies it sees it";
  EXPECT_TRUE(std::isnan(sent.values[0]));
  EXPECT_EQ(residual.KeptOf(1)[0], 0);
}

TEST(RowResidual, AStepWithoutAPushIsKept) {
  RowResidual residual(When(0, std::nullopt), 1, wire::ValueCoding::kF32);
  const std::vector<uint64_t> ids = {5};
  const std::vector<float> values = {2};
  residual.Accumulate({ids, values, {}});
  EXPECT_EQ(residual.KeptOf(5)[0], 2);
  EXPECT_THAT(Step(residual, {5}, {1}).values, ElementsAre(3));
}

TEST(RowResidual, NoneKeepsRoundingOnlyAndLazyRowsItsDefaults) {
  v1::PolicyRule rule;
  rule.mutable_none();
  EXPECT_EQ(MakeRowTest(rule).threshold, 0.0f);
  rule.mutable_lazy_rows()->set_alpha(2);
  config::FillDefaults(&rule);
  const RowTest lazy = MakeRowTest(rule);
  EXPECT_EQ(lazy.threshold, std::nullopt);
  EXPECT_EQ(lazy.alpha, 2.0f);
  EXPECT_EQ(lazy.max_age, 100u);
  EXPECT_EQ(lazy.max_rows, 100'000u);
}

// A step of few rows out of many, so that rows wait, grow old, give way and come back.
SentRows RandomStep(RowResidual& residual, uint64_t key) {
  RandomStream random(key);
  std::vector<uint64_t> ids;
  std::vector<float> values, squares;
  for (uint64_t id = 0; id < 40; ++id) {
    if (random.NextUnit() < 0.7) continue;
    ids.push_back(id);
    squares.push_back(static_cast<float>(random.NextUnit()));
    for (size_t k = 0; k < kDimension; ++k) {
      values.push_back(static_cast<float>(random.NextNormal()));
    }
  }
  return Step(residual, ids, values, squares);
}

Bytes SavedAfter(RowResidual& residual, uint64_t steps) {
  for (uint64_t step = 0; step < steps; ++step) RandomStep(residual, step);
  Bytes saved;
  ByteWriter writer(saved);
  residual.Save(&writer);
  return saved;
}

Status LoadInto(ByteSpan saved, RowResidual* residual) {
  ByteReader reader(saved);
  return residual->Load(&reader);
}

TEST(RowResidual, GoesOnFromASavedStateAsIfNothingHadBeen) {
  const std::vector<RowTest> tests = {When(2, 2, 5, 12), When(2, std::nullopt, 9), When(0, {}),
                                      When({}, 1.5f, 20, 30)};
  for (const RowTest& test : tests) {
    for (const uint64_t saved_after : {0, 1, 30}) {
      RowResidual residual(test, kDimension, wire::ValueCoding::kBf16);
      const Bytes saved = SavedAfter(residual, saved_after);
      RowResidual restored(test, kDimension, wire::ValueCoding::kBf16);
      ASSERT_TRUE(LoadInto(saved, &restored).ok());
      EXPECT_EQ(restored.counts().waiting, residual.counts().waiting);
      for (uint64_t step = saved_after; step < saved_after + 40; ++step) {
        const SentRows wanted = RandomStep(residual, step);
        const SentRows sent = RandomStep(restored, step);
        ASSERT_EQ(sent.ids, wanted.ids) << step << " after " << saved_after;
        ASSERT_EQ(sent.values, wanted.values) << step << " after " << saved_after;
      }
    }
  }
}

TEST(RowResidual, RefusesWhatIsNoSavedState) {
  RowResidual residual(When(2, 2, 5, 12), kDimension, wire::ValueCoding::kBf16);
  Bytes saved = SavedAfter(residual, 30);
  const auto load = [&](ByteSpan bytes, size_t dimension) {
    RowResidual other(When(2, 2, 5, 12), dimension, wire::ValueCoding::kBf16);
    return LoadInto(bytes, &other);
  };
  ASSERT_TRUE(load(saved, kDimension).ok());
  EXPECT_FALSE(load(saved, kDimension + 1).ok());
  for (size_t size = 0; size < saved.size(); ++size) {
    ASSERT_FALSE(load(ByteSpan(saved).first(size), kDimension).ok()) << "cut at " << size;
  }
  // A checksum guards the bytes of a file; here nothing does, and all that is asked for is sense.
  for (size_t i = 0; i < saved.size(); ++i) {
    for (const unsigned change : {0x01u, 0x80u, 0xffu}) {
      Bytes damaged = saved;
      damaged[i] = static_cast<uint8_t>(damaged[i] ^ change);
      RowResidual other(When(2, 2, 5, 12), kDimension, wire::ValueCoding::kBf16);
      if (!LoadInto(damaged, &other).ok()) continue;
      for (uint64_t step = 0; step < 3; ++step) RandomStep(other, step);
    }
  }
  saved.push_back(0);
  EXPECT_FALSE(load(saved, kDimension).ok()) << "more than a state";
}

// Multiples of 1/64 add up without rounding, in any order.
TEST(RowResidual, LosesNothingBetweenThreads) {
  constexpr uint64_t kThreads = 4, kSteps = 300, kRows = 50;
  for (const size_t max_rows : {size_t{10}, size_t{1000}}) {
    RowResidual residual(When(3, 2, 5, max_rows), kDimension, wire::ValueCoding::kF32);
    std::vector<std::vector<double>> balances(kThreads, std::vector<double>(kRows * kDimension));
    std::vector<size_t> sent_rows(kThreads);
    std::vector<std::jthread> threads;
    for (uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        RandomStream random(thread);
        std::vector<double>& balance = balances[thread];
        for (uint64_t step = 0; step < kSteps; ++step) {
          std::vector<uint64_t> ids;
          std::vector<float> values, squares;
          for (uint64_t id = 0; id < kRows; ++id) {
            if (random.NextUnit() < 0.7) continue;
            ids.push_back(id);
            squares.push_back(static_cast<float>(random.NextUnit()));
            for (size_t k = 0; k < kDimension; ++k) {
              values.push_back(static_cast<float>(random.NextBelow(257)) / 64 - 2);
              balance[id * kDimension + k] += static_cast<double>(values.back());
            }
          }
          if (random.NextUnit() < 0.2) {
            residual.Accumulate({ids, values, squares});
            continue;
          }
          const SentRows sent = Step(residual, ids, values, squares);
          sent_rows[thread] += sent.ids.size();
          ASSERT_TRUE(std::ranges::is_sorted(sent.ids, std::ranges::less_equal()) ||
                      sent.ids.size() < 2);
          for (size_t i = 0; i < sent.values.size(); ++i) {
            balance[sent.ids[i / kDimension] * kDimension + i % kDimension] -=
                static_cast<double>(sent.values[i]);
          }
        }
      });
    }
    threads.clear();
    for (uint64_t id = 0; id < kRows; ++id) {
      const std::vector<float> kept = residual.KeptOf(id);
      for (size_t k = 0; k < kDimension; ++k) {
        double balance = 0;
        for (const auto& one : balances) balance += one[id * kDimension + k];
        ASSERT_EQ(balance, static_cast<double>(kept[k])) << "row " << id;
      }
    }
    EXPECT_EQ(residual.counts().discarded_l1, 0);
    EXPECT_EQ(residual.counts().sent,
              std::accumulate(sent_rows.begin(), sent_rows.end(), size_t{0}));
    EXPECT_GT(residual.counts().sent, residual.counts().gradients / 10);
  }
}

}  // namespace
}  // namespace weir::compress

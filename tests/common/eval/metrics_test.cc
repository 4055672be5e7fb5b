#include "common/eval/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/base/random.h"

namespace weir::eval {
namespace {

struct Scored {
  std::vector<float> scores;
  std::vector<uint8_t> labels;
};

// Scores on a grid of level_count values, so that few levels mean many ties.
Scored MakeScored(size_t count, uint64_t level_count, uint64_t seed) {
  RandomStream random(seed);
  Scored made;
  for (size_t i = 0; i < count; ++i) {
    const auto level = static_cast<float>(random.NextBelow(level_count));
    made.scores.push_back((level + 0.5f) / static_cast<float>(level_count));
    made.labels.push_back(random.NextUnit() < 0.3 + 0.3 * made.scores.back());
  }
  return made;
}

double BruteForceAuc(const Scored& rows) {
  double ordered = 0, pairs = 0;
  for (size_t i = 0; i < rows.scores.size(); ++i) {
    for (size_t j = 0; j < rows.scores.size(); ++j) {
      if (rows.labels[i] != 1 || rows.labels[j] != 0) continue;
      ++pairs;
      if (rows.scores[i] > rows.scores[j]) ordered += 1;
      if (rows.scores[i] == rows.scores[j]) ordered += 0.5;
    }
  }
  return ordered / pairs;
}

TEST(Metrics, AucIsTheShareOfPairsInOrderWithTiesAveraged) {
  for (const uint64_t level_count : {2u, 3u, 10u, 100u, 1'000'000u}) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const Scored rows = MakeScored(301, level_count, seed);
      EXPECT_NEAR(ComputeMetrics(rows.scores, rows.labels).auc, BruteForceAuc(rows), 1e-12)
          << level_count << " levels, seed " << seed;
    }
  }
}

TEST(Metrics, AucOfPerfectReversedAndConstantScores) {
  const std::vector<uint8_t> labels = {0, 0, 1, 1, 1};
  EXPECT_EQ(ComputeMetrics(std::vector{0.1f, 0.2f, 0.3f, 0.4f, 0.5f}, labels).auc, 1.0);
  EXPECT_EQ(ComputeMetrics(std::vector{0.5f, 0.4f, 0.3f, 0.2f, 0.1f}, labels).auc, 0.0);
  EXPECT_EQ(ComputeMetrics(std::vector(5, 0.3f), labels).auc, 0.5);
}

TEST(Metrics, ClosedFormsByHand) {
  const std::vector<float> scores = {0.75f, 0.5f, 0.25f, 0.5f};
  const std::vector<uint8_t> labels = {1, 1, 0, 0};
  const Metrics metrics = ComputeMetrics(scores, labels);
  EXPECT_EQ(metrics.samples, 4);
  EXPECT_EQ(metrics.positives, 2);
  const double logloss = -(2 * std::log(0.75) + 2 * std::log(0.5)) / 4;
  EXPECT_NEAR(metrics.logloss, logloss, 1e-15);
  EXPECT_NEAR(metrics.normalized_entropy, logloss / std::log(2.0), 1e-15);
  EXPECT_EQ(metrics.accuracy, 0.75) << "a score of exactly 0.5 predicts 1";
  EXPECT_EQ(metrics.calibration, 1.0);
  EXPECT_EQ(metrics.auc, 0.875);
}

TEST(Metrics, PredictingTheBaseRateHasNormalizedEntropyOne) {
  std::vector<uint8_t> labels(1000, 0);
  for (size_t i = 0; i < 250; ++i) labels[i * 4] = 1;
  const Metrics metrics = ComputeMetrics(std::vector(1000, 0.25f), labels);
  EXPECT_NEAR(metrics.normalized_entropy, 1.0, 1e-12);
  EXPECT_NEAR(metrics.calibration, 1.0, 1e-12);
  EXPECT_EQ(metrics.accuracy, 0.75);
}

TEST(Metrics, CertainAndWrongCostsTheClampedProbability) {
  const std::vector<float> scores = {1.0f, 0.0f};
  const std::vector<uint8_t> labels = {0, 1};
  EXPECT_NEAR(ComputeMetrics(scores, labels).logloss, -std::log(1e-7), 1e-9);
  const std::vector<uint8_t> right = {1, 0};
  EXPECT_NEAR(ComputeMetrics(scores, right).logloss, 1e-7, 1e-12);
}

TEST(Metrics, OneClassLeavesAucAndNormalizedEntropyUndefined) {
  const std::vector<float> scores = {0.2f, 0.8f};
  const Metrics negatives = ComputeMetrics(scores, std::vector<uint8_t>{0, 0});
  EXPECT_TRUE(std::isnan(negatives.auc));
  EXPECT_TRUE(std::isnan(negatives.normalized_entropy));
  EXPECT_TRUE(std::isnan(negatives.calibration));
  EXPECT_EQ(negatives.accuracy, 0.5);
  EXPECT_TRUE(std::isfinite(negatives.logloss));
  const Metrics positives = ComputeMetrics(scores, std::vector<uint8_t>{1, 1});
  EXPECT_TRUE(std::isnan(positives.auc));
  EXPECT_NEAR(positives.calibration, 0.5, 1e-7);
}

TEST(Metrics, NoRowsOrANanScoreLeaveEverythingUndefined) {
  const Metrics none = ComputeMetrics({}, {});
  EXPECT_EQ(none.samples, 0);
  EXPECT_TRUE(std::isnan(none.logloss));
  const std::vector<float> scores = {0.5f, std::numeric_limits<float>::quiet_NaN(), 0.1f};
  const Metrics diverged = ComputeMetrics(scores, std::vector<uint8_t>{1, 0, 1});
  EXPECT_EQ(diverged.samples, 3);
  EXPECT_EQ(diverged.positives, 2);
  EXPECT_TRUE(std::isnan(diverged.logloss));
  EXPECT_TRUE(std::isnan(diverged.auc));
  EXPECT_TRUE(std::isnan(diverged.accuracy));
  EXPECT_TRUE(std::isnan(diverged.calibration));
}

TEST(Metrics, DoesNotDependOnTheOrderOfRows) {
  Scored rows = MakeScored(500, 20, 7);
  const Metrics before = ComputeMetrics(rows.scores, rows.labels);
  std::vector<float> scores(rows.scores.rbegin(), rows.scores.rend());
  std::vector<uint8_t> labels(rows.labels.rbegin(), rows.labels.rend());
  const Metrics after = ComputeMetrics(scores, labels);
  EXPECT_EQ(before.auc, after.auc);
  EXPECT_EQ(before.accuracy, after.accuracy);
  EXPECT_NEAR(before.logloss, after.logloss, 1e-12);
}

}  // namespace
}  // namespace weir::eval

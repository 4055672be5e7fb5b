#include "common/cluster/evaluator.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "tests/support/manual_executor.h"

namespace weir::cluster {
namespace {

// As many rows, every other one positive and all told apart.
ChunkScores Scores(size_t rows) {
  eval::Scores scores;
  for (size_t i = 0; i < rows; ++i) {
    scores.labels.push_back(i % 2 == 0 ? 1 : 0);
    scores.probabilities.push_back(i % 2 == 0 ? 0.75f : 0.25f);
  }
  ChunkScores chunks;
  chunks[ChunkKey()] = std::make_shared<const eval::Scores>(std::move(scores));
  return chunks;
}

TEST(Evaluator, FewRowsAreEvaluatedAtOnce) {
  Evaluator evaluator;
  const auto report = evaluator.Begin(Scores(10));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->samples(), 10u);
  EXPECT_EQ(report->auc(), 1);
  EXPECT_FALSE(evaluator.Take().has_value());
}

TEST(Evaluator, ManyRowsAreTakenOnceWhenTheyAreEvaluated) {
  test::ManualExecutor executor;
  Evaluator evaluator(executor);
  EXPECT_FALSE(evaluator.Take().has_value()) << "nothing was begun";
  ASSERT_FALSE(evaluator.Begin(Scores(1'000'001)).has_value());
  EXPECT_FALSE(evaluator.Take().has_value());
  EXPECT_TRUE(executor.RunOne());
  const auto report = evaluator.Take();
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->samples(), 1'000'001u);
  EXPECT_FALSE(evaluator.Take().has_value());
}

TEST(Evaluator, ManyRowsAreEvaluatedOnAThreadOfTheirOwn) {
  Evaluator evaluator;
  ASSERT_FALSE(evaluator.Begin(Scores(1'000'001)).has_value());
  std::optional<v1::EvaluationReport> report;
  for (int i = 0; i < 6000 && !report; ++i) {
    report = evaluator.Take();
    if (!report) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->samples(), 1'000'001u);
}

TEST(Evaluator, WhoGoesDoesNotWaitForWhatWasBegun) {
  test::ManualExecutor executor;
  {
    Evaluator evaluator(executor);
    ASSERT_FALSE(evaluator.Begin(Scores(1'000'001)).has_value());
  }
  EXPECT_EQ(executor.waiting(), 1u);
  EXPECT_TRUE(executor.RunOne()) << "of what is its own alone";
}

}  // namespace
}  // namespace weir::cluster

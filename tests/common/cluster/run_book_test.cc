#include "common/cluster/run_book.h"

#include <gtest/gtest.h>

#include "tests/common/cluster/seats.h"

namespace weir::cluster {
namespace {

// Ten rows in one chunk to train on, and ten in one to test on.
v1::Config OneChunk() {
  v1::Config config;
  config.mutable_data()->set_batch_size(10);
  config.mutable_data()->set_chunk_batches(1);
  config.mutable_data()->set_epochs(1);
  config.mutable_data()->mutable_synthetic()->set_rows(10);
  config.mutable_data()->mutable_synthetic()->set_test_rows(10);
  config.mutable_run()->set_seed(7);
  return config;
}

// Finishes the chunk that the trainer is lent; a test chunk has scores that are all right.
void DoNext(RunBook* book, bool is_test) {
  const v1::WorkReply reply = book->director().Next(kFirst, 0);
  ASSERT_TRUE(reply.has_chunk()) << reply.ShortDebugString();
  v1::WorkRequest request;
  v1::Completion& completion = *request.add_completions();
  completion.set_lease(reply.chunk().lease());
  completion.set_row_count(10);
  completion.set_has_scores(is_test);
  v1::FileEnd& end = *request.add_file_ends();
  end.set_split(reply.chunk().split());
  end.set_chunk_count(1);
  eval::Scores scores;
  for (int i = 0; is_test && i < 10; ++i) {
    scores.labels.push_back(i % 2 == 0 ? 1 : 0);
    scores.probabilities.push_back(i % 2 == 0 ? 0.75f : 0.25f);
  }
  book->TakeWork(request, kFirst, {std::move(scores)}, 0);
  book->StepEvaluation(0);
}

TEST(RunBook, AFinalReportHasWhatWasDoneCountedAndScored) {
  const v1::Config config = OneChunk();
  RunBook book(config, {.mode = "async", .config_hash = "abc", .servers = 3});
  v1::WorkerReport counted;
  counted.set_steps(1);
  ASSERT_TRUE(book.reports().Take(kFirst, counted).ok());
  ASSERT_NO_FATAL_FAILURE(DoNext(&book, false));
  ASSERT_NO_FATAL_FAILURE(DoNext(&book, true));
  ASSERT_EQ(book.director().state(), RunDirector::State::kFinished);
  const v1::RunReport report = book.FinalReport(2, 0);
  EXPECT_EQ(report.mode(), "async");
  EXPECT_EQ(report.config_hash(), "abc");
  EXPECT_EQ(report.servers(), 3u);
  EXPECT_EQ(report.trainers(), 2u);
  EXPECT_EQ(report.stages(), 1u);
  EXPECT_EQ(report.seed(), 7u);
  EXPECT_EQ(report.samples(), 10u);
  EXPECT_EQ(report.total().steps(), 1u);
  EXPECT_EQ(report.test().auc(), 1);
}

}  // namespace
}  // namespace weir::cluster

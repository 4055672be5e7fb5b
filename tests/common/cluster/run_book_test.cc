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
  v1::Report last;
  last.set_request_id(4);
  last.set_is_last(true);
  const v1::ReportReply reply = book.ReplyTo(last, 2, 0);
  EXPECT_EQ(reply.request_id(), 4u);
  const v1::RunReport& report = reply.run();
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

TEST(RunBook, TheSumIsForWhoWantsIt) {
  const v1::Config config = OneChunk();
  RunBook book(config, {.mode = "async", .config_hash = ""});
  v1::WorkerReport counted;
  counted.set_steps(3);
  ASSERT_TRUE(book.reports().Take(kFirst, counted).ok());
  v1::Report report;
  EXPECT_FALSE(book.ReplyTo(report, 1, 0).has_sum());
  report.set_wants_sum(true);
  EXPECT_EQ(book.ReplyTo(report, 1, 0).sum().steps(), 3u);
  report.set_is_last(true);
  EXPECT_FALSE(book.ReplyTo(report, 1, 0).has_run()) << "the run is not over";
}

}  // namespace
}  // namespace weir::cluster

#include "worker/pipeline/silence_watch.h"

#include <gtest/gtest.h>

namespace weir::worker {
namespace {

using Verdict = SilenceWatch::Verdict;

constexpr int64_t kAnswer = 1000, kJoin = 5000;

v1::ClusterConfig Cluster() {
  v1::ClusterConfig cluster;
  cluster.set_answer_timeout_ms(kAnswer);
  cluster.set_join_timeout_ms(kJoin);
  return cluster;
}

v1::PipelineView StageView(uint64_t generation, bool is_complete, bool is_ready) {
  v1::PipelineView view;
  view.set_generation(generation);
  view.set_ready(is_ready);
  view.add_stages()->set_incarnation(1);
  view.add_stages()->set_incarnation(is_complete ? 1 : 0);
  return view;
}

TEST(SilenceWatch, StartsOverOnceAGenerationAndGivesUpWhenThatDoesNotHelp) {
  SilenceWatch watch(Cluster(), 0);
  watch.OnView(StageView(1, true, true), 100);
  EXPECT_EQ(watch.Check(std::nullopt, 99'999).verdict, Verdict::kFine) << "nothing is away";
  EXPECT_EQ(watch.Check(100, 1100).verdict, Verdict::kFine);
  EXPECT_EQ(watch.Check(100, 1101).verdict, Verdict::kStartOver);
  EXPECT_EQ(watch.Check(100, 1102).verdict, Verdict::kFine) << "there will be another generation";
  watch.OnView(StageView(2, true, false), 1200);
  EXPECT_EQ(watch.Check(100, 1250).verdict, Verdict::kFine) << "nothing can come back";
  watch.OnView(StageView(2, true, true), 1300);
  EXPECT_EQ(watch.Check(1300, 2301).verdict, Verdict::kStartOver);
  watch.OnView(StageView(3, true, true), 2400);
  EXPECT_EQ(watch.Check(2400, 1101 + kJoin).verdict, Verdict::kStartOver);
  watch.OnView(StageView(4, true, true), 6110);
  const SilenceWatch::Silence silence = watch.Check(2400, 1101 + kJoin + 1);
  EXPECT_EQ(silence.verdict, Verdict::kGiveUp);
  EXPECT_EQ(silence.ms, 1101 + kJoin + 1 - 100) << "all of it, however often it started over";
}

TEST(SilenceWatch, ABatchThatComesBackIsNoSilence) {
  SilenceWatch watch(Cluster(), 0);
  watch.OnView(StageView(1, true, true), 0);
  watch.OnBatchBack(5000);
  EXPECT_EQ(watch.Check(1, 6000).verdict, Verdict::kFine) << "it queues behind others";
  EXPECT_EQ(watch.Check(1, 6001).verdict, Verdict::kStartOver);
}

TEST(SilenceWatch, AStageThatWasAwayMayTakeItsTime) {
  SilenceWatch watch(Cluster(), 0);
  watch.OnView(StageView(1, true, true), 0);
  watch.OnView(StageView(2, false, false), 500);
  watch.OnView(StageView(3, true, true), 90'000);
  EXPECT_EQ(watch.Check(90'000, 90'500).verdict, Verdict::kFine);
}

TEST(SilenceWatch, StartsOverBeforeItGivesUpHoweverLongNothingWasAway) {
  SilenceWatch watch(Cluster(), 0);
  watch.OnView(StageView(1, true, true), 0);
  EXPECT_EQ(watch.Check(std::nullopt, 90'000).verdict, Verdict::kFine);
  const SilenceWatch::Silence silence = watch.Check(90'000, 91'001);
  EXPECT_EQ(silence.verdict, Verdict::kStartOver);
  EXPECT_EQ(silence.ms, 1001);
  watch.OnView(StageView(2, true, true), 91'100);
  watch.OnBatchBack(91'200);
  EXPECT_EQ(watch.Check(91'150, 99'000).verdict, Verdict::kStartOver) << "of another silence";
}

TEST(SilenceWatch, SaysEveryTenSecondsThatStagesAreMissing) {
  SilenceWatch watch(Cluster(), 100);
  EXPECT_FALSE(watch.NoticeDue(10'099));
  EXPECT_EQ(watch.NoticeDue(10'100), 100);
  EXPECT_FALSE(watch.NoticeDue(10'101));
  EXPECT_EQ(watch.NoticeDue(20'100), 100);
  watch.OnView(StageView(1, true, true), 21'000);
  EXPECT_FALSE(watch.NoticeDue(99'000));
  watch.OnView(StageView(2, false, false), 100'000);
  EXPECT_FALSE(watch.NoticeDue(100'001));
  EXPECT_EQ(watch.NoticeDue(110'000), 100'000);
}

}  // namespace
}  // namespace weir::worker

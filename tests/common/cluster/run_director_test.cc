#include "common/cluster/run_director.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/eval/metrics.h"
#include "tests/common/cluster/seats.h"

namespace weir::cluster {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kLines = 10;

RunPlan Plan(uint64_t evaluate_every_samples, uint32_t test_file_count = 1) {
  return {.train_file_count = 1,
          .test_file_count = test_file_count,
          .epoch_count = 1,
          .lines_per_chunk = kLines,
          .evaluate_every_samples = evaluate_every_samples};
}

// A director, and the data that its trainers would read: one training file, one test file.
class TrialRun {
 public:
  explicit TrialRun(const RunPlan& plan, uint64_t train_rows = 100, uint64_t test_rows = 35)
      : director(plan), train_rows_(train_rows) {
    RandomStream random(3);
    for (uint64_t row = 0; row < test_rows; ++row) {
      test_.probabilities.push_back(static_cast<float>(random.NextBelow(20)) / 20);
      test_.labels.push_back(random.NextUnit() < 0.4);
    }
  }

  // The member's next chunk, which must be of this split.
  v1::ChunkLease Take(Seat member, v1::InputSplit split) {
    const v1::WorkReply reply = director.Next(member, now_ms);
    EXPECT_TRUE(reply.has_chunk()) << reply.ShortDebugString();
    EXPECT_EQ(reply.chunk().split(), split);
    return reply.chunk();
  }
  v1::ChunkLease TakeTrain(Seat member) { return Take(member, v1::TRAIN); }
  v1::ChunkLease TakeTest(Seat member) { return Take(member, v1::TEST); }

  void Complete(Seat member, const v1::ChunkLease& lease) {
    const bool is_test = lease.split() == v1::TEST;
    const uint64_t rows = is_test ? test_.labels.size() : train_rows_;
    const uint64_t first = std::min(rows, lease.chunk() * kLines);
    const uint64_t count = std::min(kLines, rows - first);
    if (count < kLines) {
      v1::FileEnd end;
      end.set_split(lease.split());
      end.set_chunk_count(lease.chunk() + (count > 0 ? 1 : 0));
      director.LearnEnd(member, end);
    }
    v1::Completion completion;
    completion.set_lease(lease.lease());
    completion.set_row_count(count - lease.first_row());
    completion.set_has_scores(is_test);
    director.Complete(member, completion, is_test ? ScoresOf(first, count) : eval::Scores{},
                      now_ms);
    if (const auto scores = director.TakeScores()) director.Evaluated(Evaluate(*scores), now_ms);
  }

  // Both trainers work until the run is over; each holds up to two chunks.
  void WorkToTheEnd() {
    std::vector<std::pair<Seat, v1::ChunkLease>> held;
    for (int turn = 0; turn < 1000 && director.state() == RunDirector::State::kRunning; ++turn) {
      const Seat member = turn % 2 == 0 ? kFirst : kSecond;
      const v1::WorkReply reply = director.Next(member, now_ms);
      if (reply.has_chunk()) held.emplace_back(member, reply.chunk());
      if (!held.empty() && (held.size() == 3 || !reply.has_chunk())) {
        Complete(held.front().first, held.front().second);
        held.erase(held.begin());
      }
    }
    EXPECT_EQ(director.state(), RunDirector::State::kFinished);
  }

  std::vector<uint64_t> EvaluatedAt() const {
    std::vector<uint64_t> samples;
    for (const auto& evaluation : director.evaluations())
      samples.push_back(evaluation.at_samples());
    return samples;
  }

  eval::Metrics DirectMetrics() const {
    return eval::ComputeMetrics(test_.probabilities, test_.labels);
  }

  RunDirector director;
  int64_t now_ms = 0;

  eval::Scores ScoresOf(uint64_t first, uint64_t count) const {
    const auto begin = static_cast<int64_t>(first), end = static_cast<int64_t>(first + count);
    return {{test_.probabilities.begin() + begin, test_.probabilities.begin() + end},
            {},
            {test_.labels.begin() + begin, test_.labels.begin() + end}};
  }

 private:
  const uint64_t train_rows_;
  eval::Scores test_;
};

void ExpectWaits(TrialRun& run, Seat member) {
  const v1::WorkReply reply = run.director.Next(member, run.now_ms);
  EXPECT_GT(reply.wait_ms(), 0u) << reply.ShortDebugString();
}

TEST(RunDirector, EvaluatesOnceAtTheEndByDefault) {
  TrialRun run(Plan(0));
  run.WorkToTheEnd();
  EXPECT_EQ(run.director.samples(), 100u);
  EXPECT_THAT(run.EvaluatedAt(), ElementsAre(100));
}

TEST(RunDirector, EvaluatesEverySoManySamplesAndAtTheEnd) {
  TrialRun run(Plan(30));
  run.WorkToTheEnd();
  EXPECT_THAT(run.EvaluatedAt(), ElementsAre(30, 60, 90, 100));
  for (const auto& evaluation : run.director.evaluations()) EXPECT_EQ(evaluation.samples(), 35u);
}

TEST(RunDirector, DoesNotEvaluateTheEndTwice) {
  TrialRun run(Plan(30), 60);
  run.WorkToTheEnd();
  EXPECT_THAT(run.EvaluatedAt(), ElementsAre(30, 60));
}

TEST(RunDirector, FinishesWithoutEvaluationWhenThereIsNoTestFile) {
  for (const uint64_t every : {0u, 30u}) {
    TrialRun run(Plan(every, 0));
    run.WorkToTheEnd();
    EXPECT_EQ(run.director.samples(), 100u);
    EXPECT_THAT(run.director.evaluations(), IsEmpty());
  }
}

TEST(RunDirector, ARunThatTrainedNothingHasFailed) {
  TrialRun run(Plan(0), 0, 5);
  run.Complete(kFirst, run.TakeTrain(kFirst));
  run.Complete(kFirst, run.TakeTest(kFirst));
  EXPECT_THAT(run.director.failure(), HasSubstr("data.train has no usable row"));
}

TEST(RunDirector, FinishesWithAnEmptyTestFile) {
  TrialRun run(Plan(0), 5, 0);
  run.WorkToTheEnd();
  EXPECT_EQ(run.director.samples(), 5u);
  ASSERT_THAT(run.director.evaluations(), SizeIs(1));
  EXPECT_EQ(run.director.evaluations()[0].samples(), 0u);
}

TEST(RunDirector, DrainsTrainingBeforeItEvaluates) {
  TrialRun run(Plan(20));
  const auto first = run.TakeTrain(kFirst);
  const auto second = run.TakeTrain(kSecond);
  ExpectWaits(run, kFirst);  // the 20 samples are at work already
  run.Complete(kFirst, first);
  ExpectWaits(run, kFirst);
  run.Complete(kSecond, second);
  run.TakeTest(kFirst);
}

TEST(RunDirector, LendsNoTrainingWhileItEvaluates) {
  TrialRun run(Plan(10), 100, 5);
  run.Complete(kFirst, run.TakeTrain(kFirst));
  const auto test = run.TakeTest(kFirst);
  const auto past_end = run.TakeTest(kSecond);
  run.Complete(kFirst, test);
  ExpectWaits(run, kFirst);
  run.Complete(kSecond, past_end);
  EXPECT_THAT(run.EvaluatedAt(), ElementsAre(10));
  EXPECT_EQ(run.TakeTrain(kFirst).chunk(), 1u);
}

// Later stages take over what was learned before the first batch of each.
TEST(RunDirector, TestChunksTellTheEvaluationThatTheyAreOf) {
  TrialRun run(Plan(10), 30, 15);
  for (uint32_t evaluation = 0; evaluation < 3; ++evaluation) {
    run.Complete(kFirst, run.TakeTrain(kFirst));
    const auto first = run.TakeTest(kFirst), second = run.TakeTest(kSecond);
    EXPECT_EQ(first.evaluation(), evaluation);
    EXPECT_EQ(second.evaluation(), evaluation);
    run.Complete(kFirst, first);
    run.Complete(kSecond, second);
  }
}

// What the scores come to may take long to compute.
TEST(RunDirector, WaitsForTheMetrics) {
  TrialRun run(Plan(10), 20, 5);
  run.Complete(kFirst, run.TakeTrain(kFirst));
  v1::Completion completion;
  completion.set_lease(run.TakeTest(kFirst).lease());
  completion.set_row_count(5);
  completion.set_has_scores(true);
  v1::FileEnd end;
  end.set_split(v1::TEST);
  end.set_chunk_count(1);
  run.director.LearnEnd(kFirst, end);
  EXPECT_FALSE(run.director.TakeScores());
  run.director.Complete(kFirst, completion, run.ScoresOf(0, 5), 0);
  ExpectWaits(run, kFirst);
  const auto scores = run.director.TakeScores();
  ASSERT_TRUE(scores);
  EXPECT_EQ(RowCount(*scores), 5u);
  EXPECT_FALSE(run.director.TakeScores()) << "once";
  ExpectWaits(run, kSecond);
  EXPECT_THAT(run.EvaluatedAt(), IsEmpty());
  run.director.Evaluated(Evaluate(*scores), 0);
  EXPECT_THAT(run.EvaluatedAt(), ElementsAre(10));
  EXPECT_EQ(run.director.evaluations()[0].auc(), run.DirectMetrics().auc);
  run.TakeTrain(kSecond);
}

TEST(RunDirector, GoesOnTrainingWhenChunksWereShorterThanExpected) {
  TrialRun run(Plan(20));
  for (int chunk = 0; chunk < 2; ++chunk) {
    v1::Completion completion;  // four of the ten lines were malformed
    completion.set_lease(run.TakeTrain(kFirst).lease());
    completion.set_row_count(6);
    run.director.Complete(kFirst, completion, {}, 0);
  }
  EXPECT_EQ(run.director.samples(), 12u);
  run.Complete(kFirst, run.TakeTrain(kFirst));
  run.TakeTest(kFirst);
}

TEST(RunDirector, MergesScoresInWhateverOrderTheyArrive) {
  for (const bool in_reverse : {false, true}) {
    TrialRun run(Plan(0), 5);
    run.Complete(kFirst, run.TakeTrain(kFirst));
    std::vector<v1::ChunkLease> leases;
    for (int i = 0; i < 5; ++i) leases.push_back(run.TakeTest(i % 2 == 0 ? kFirst : kSecond));
    if (in_reverse) std::reverse(leases.begin(), leases.end());
    for (const auto& lease : leases) {
      run.Complete(lease.chunk() % 2 == 0 ? kFirst : kSecond, lease);
    }
    const eval::Metrics direct = run.DirectMetrics();
    ASSERT_THAT(run.director.evaluations(), SizeIs(1));
    const v1::EvaluationReport& report = run.director.evaluations()[0];
    EXPECT_EQ(report.samples(), 35u);
    EXPECT_EQ(report.auc(), direct.auc);
    EXPECT_EQ(report.logloss(), direct.logloss) << "merged in the order of the file";
    EXPECT_EQ(report.accuracy(), direct.accuracy);
    EXPECT_EQ(report.normalized_entropy(), direct.normalized_entropy);
    EXPECT_EQ(report.calibration(), direct.calibration);
  }
}

TEST(RunDirector, ADeadTrainersTestChunkIsScoredByAnotherAndCountsOnce) {
  TrialRun run(Plan(0), 5, 10);
  run.Complete(kFirst, run.TakeTrain(kFirst));
  const auto lost = run.TakeTest(kFirst);
  run.director.TakeBack(kFirst);
  const auto again = run.TakeTest(kSecond);
  EXPECT_EQ(again.chunk(), lost.chunk());
  run.Complete(kFirst, lost);  // late, from a trainer that was given up
  run.Complete(kSecond, again);
  run.WorkToTheEnd();
  ASSERT_THAT(run.director.evaluations(), SizeIs(1));
  EXPECT_EQ(run.director.evaluations()[0].samples(), 10u);
}

TEST(RunDirector, ADeadTrainersChunkIsTrainedBeforeTheEvaluation) {
  TrialRun run(Plan(20));
  const auto first = run.TakeTrain(kFirst);
  run.director.Advance(kFirst, first.lease(), 4);
  run.Complete(kSecond, run.TakeTrain(kSecond));
  ExpectWaits(run, kSecond);
  run.director.TakeBack(kFirst);
  const auto again = run.TakeTrain(kSecond);
  EXPECT_EQ(again.chunk(), first.chunk());
  EXPECT_EQ(again.first_row(), 4u);
  run.Complete(kFirst, first);
  EXPECT_EQ(run.director.samples(), 14u) << "a lease that was given to another does not count";
  run.Complete(kSecond, again);
  EXPECT_EQ(run.director.samples(), 20u) << "what the dead one had finished does";
  run.TakeTest(kSecond);
}

TEST(RunDirector, TrainersThatReadDifferentFilesEndTheRun) {
  for (const bool end_comes_first : {true, false}) {
    TrialRun run(Plan(0));
    const auto first = run.TakeTrain(kFirst);
    const auto second = run.TakeTrain(kSecond);
    v1::FileEnd end;  // the first one's copy is empty
    end.set_split(v1::TRAIN);
    if (end_comes_first) run.director.LearnEnd(kFirst, end);
    run.Complete(kSecond, second);
    if (!end_comes_first) run.director.LearnEnd(kFirst, end);
    EXPECT_THAT(run.director.failure(),
                AllOf(HasSubstr("found another end of data.train[0]"), HasSubstr("trainer")));
  }
}

TEST(RunDirector, WhatAChunkCannotHoldEndsTheRunAndNamesTheTrainer) {
  TrialRun rows(Plan(10));
  v1::Completion completion;
  completion.set_lease(rows.TakeTrain(kSecond).lease());
  completion.set_row_count(uint64_t{1} << 62);
  rows.director.Complete(kSecond, completion, {}, 0);
  EXPECT_THAT(rows.director.failure(), HasSubstr("trainer 1 reports 4611686018427387904 rows"));

  TrialRun offset(Plan(10));
  const auto lease = offset.TakeTrain(kFirst);
  offset.director.Advance(kFirst, lease.lease(), kLines);
  EXPECT_EQ(offset.director.state(), RunDirector::State::kRunning);
  offset.director.Advance(kFirst, lease.lease(), uint64_t{1} << 63);
  EXPECT_EQ(offset.director.state(), RunDirector::State::kFailed);

  TrialRun scores(Plan(0), 5, 10);
  scores.Complete(kFirst, scores.TakeTrain(kFirst));
  completion.set_lease(scores.TakeTest(kFirst).lease());
  completion.set_row_count(10);
  completion.set_has_scores(true);
  scores.director.Complete(kFirst, completion, {{0.5f}, {}, {1}}, 0);
  EXPECT_THAT(scores.director.failure(), HasSubstr("10 rows and 1 scores"));
}

TEST(RunDirector, AFailureReachesEveryone) {
  TrialRun run(Plan(0));
  run.TakeTrain(kFirst);
  run.director.Fail("trainer 0: the disk is full");
  run.director.Fail("trainer 1: connection lost");
  EXPECT_EQ(run.director.state(), RunDirector::State::kFailed);
  for (const Seat member : {kFirst, kSecond}) {
    EXPECT_EQ(run.director.Next(member, 5).failed(), "trainer 0: the disk is full") << "the first";
  }
}

TEST(RunDirector, AFinishedRunStaysFinished) {
  TrialRun run(Plan(0));
  run.WorkToTheEnd();
  run.director.Fail("too late");
  EXPECT_EQ(run.director.failure(), "");
  for (const Seat member : {kFirst, kSecond}) {
    EXPECT_TRUE(run.director.Next(member, 0).has_finished());
  }
}

TEST(RunDirector, TrainSecondsLeaveEvaluationsOut) {
  TrialRun run(Plan(10), 15, 5);
  run.now_ms = 1000;
  EXPECT_EQ(run.director.TrainSeconds(run.now_ms), 0) << "nobody has come yet";
  const auto first = run.TakeTrain(kFirst);
  run.now_ms = 3000;
  EXPECT_EQ(run.director.TrainSeconds(run.now_ms), 2);
  run.Complete(kFirst, first);
  const auto test = run.TakeTest(kFirst);
  run.now_ms = 8000;
  EXPECT_EQ(run.director.TrainSeconds(run.now_ms), 2);
  run.Complete(kFirst, test);
  EXPECT_EQ(run.director.evaluations()[0].seconds(), 5);
  const auto last = run.TakeTrain(kFirst);
  run.now_ms = 8500;
  run.Complete(kFirst, last);
  run.now_ms = 9000;
  run.WorkToTheEnd();
  EXPECT_THAT(run.EvaluatedAt(), ElementsAre(10, 15));
  EXPECT_EQ(run.director.TrainSeconds(20'000), 2.5);
}

TEST(RunDirector, LendsChunksOfAsManyFilesAsWorkersHaveFound) {
  RunDirector director(Plan(0));
  EXPECT_TRUE(director.SetFileCounts(2, 0));
  v1::FileEnd end;
  end.set_split(v1::TRAIN);
  end.set_chunk_count(1);
  EXPECT_EQ(director.Next(kFirst, 0).chunk().file(), 0u);
  director.LearnEnd(kFirst, end);
  EXPECT_EQ(director.Next(kFirst, 0).chunk().file(), 1u);
  EXPECT_TRUE(director.SetFileCounts(2, 0));
  EXPECT_FALSE(director.SetFileCounts(3, 0)) << "what was lent would be of other files";
  EXPECT_FALSE(director.SetFileCounts(2, 1));
}

TEST(RunDirector, TellsTheLengthOfTheRunWhenTheEndsAreKnown) {
  RunPlan plan = Plan(0);
  plan.epoch_count = 3;
  RunDirector director(plan);
  EXPECT_EQ(director.total_samples(), 0u);
  v1::FileEnd end;
  end.set_split(v1::TRAIN);
  end.set_chunk_count(7);
  director.LearnEnd(kFirst, end);
  EXPECT_EQ(director.total_samples(), 3 * 7 * kLines);

  plan.train_rows = 65;
  EXPECT_EQ(RunDirector(plan).total_samples(), 3u * 65) << "exact, and from the start";
}

// A file may be much shorter than a chunk, and is read in each epoch.
TEST(RunDirector, GuessesTheLengthOfTheRunFromTheChunksThatAreFinished) {
  RunPlan plan = Plan(0);
  plan.epoch_count = 3;
  TrialRun run(plan, 4);
  const v1::ChunkLease lease = run.TakeTrain(kFirst);
  run.director.Advance(kFirst, lease.lease(), 3);  // so much of it has been pushed
  run.Complete(kFirst, lease);
  EXPECT_EQ(run.director.samples(), 4u);
  EXPECT_EQ(run.director.total_samples(), 3u * 4);
}

TEST(RunDirector, TellsTheLengthOfAFinishedRunExactly) {
  TrialRun run(Plan(0), 93);
  run.Complete(kFirst, run.TakeTrain(kFirst));
  run.WorkToTheEnd();
  EXPECT_EQ(run.director.total_samples(), 93u);
}

RunPlan PlanOfConcurrency(uint64_t warmup_steps, uint64_t most = 0) {
  RunPlan plan = Plan(0);
  plan.concurrency_warmup_steps = warmup_steps;
  plan.max_concurrency = most;
  return plan;
}

TEST(RunDirector, OneMemberBeginsAndOthersJoinWithTheSteps) {
  TrialRun run(PlanOfConcurrency(100));
  run.TakeTrain(kFirst);
  ExpectWaits(run, kSecond);
  run.TakeTrain(kFirst);  // who is at work stays so
  const uint64_t changes = run.director.changes();
  run.director.Reach(99);
  ExpectWaits(run, kSecond);
  EXPECT_EQ(run.director.changes(), changes);
  run.director.Reach(100);
  EXPECT_NE(run.director.changes(), changes) << "who waits is looked at";
  run.TakeTrain(kSecond);
  ExpectWaits(run, kThird);
}

// So whoever has the only chunk and does nothing can be told from a run that goes on.
TEST(RunDirector, AwaitsTheWorkAtHandWhileItKeepsSomebodyOut) {
  TrialRun run(PlanOfConcurrency(100));
  const v1::ChunkLease lease = run.TakeTrain(kFirst);
  EXPECT_EQ(run.director.awaited_work(), 0u);
  ExpectWaits(run, kSecond);
  const uint64_t work = run.director.awaited_work();
  EXPECT_GT(work, 0u);
  run.director.Advance(kFirst, lease.lease(), 1);
  EXPECT_NE(run.director.awaited_work(), work) << "it does something";
  run.director.Reach(100);
  EXPECT_EQ(run.director.awaited_work(), 0u);
  run.TakeTrain(kSecond);
  ExpectWaits(run, kThird);
  EXPECT_GT(run.director.awaited_work(), 0u);
  run.director.TakeBack(kFirst);
  EXPECT_EQ(run.director.awaited_work(), 0u);
}

v1::RuleStarts RulesThatBeganAfter(uint64_t dense, uint64_t rows) {
  v1::RuleStarts starts;
  starts.set_dense(dense);
  starts.set_rows(rows);
  return starts;
}

TEST(RunDirector, GoesOnWithAllAtWorkUnderTheRulesOfItsModel) {
  TrialRun run(PlanOfConcurrency(100));
  run.director.BeginAfter(RulesThatBeganAfter(0, 0));
  run.director.Reach(1001);
  EXPECT_EQ(run.director.Next(kFirst, run.now_ms).concurrency(), 11u);
}

TEST(RunDirector, BeginsWithOneMemberAgainWhenARuleBegins) {
  for (const v1::RuleStarts& starts :
       {RulesThatBeganAfter(1000, 0), RulesThatBeganAfter(0, 1000)}) {
    TrialRun run(PlanOfConcurrency(100));
    run.director.BeginAfter(starts);
    run.director.Reach(1001);
    EXPECT_EQ(run.director.Next(kFirst, run.now_ms).concurrency(), 1u);
  }
}

TEST(RunDirector, SaysWhichChunkAMemberBeginsWith) {
  TrialRun run(PlanOfConcurrency(0));
  const v1::ChunkLease first = run.TakeTrain(kFirst);
  EXPECT_TRUE(first.begins());
  const v1::ChunkLease second = run.TakeTrain(kFirst);
  EXPECT_FALSE(second.begins());
  EXPECT_TRUE(run.TakeTrain(kSecond).begins());
  run.Complete(kFirst, first);
  EXPECT_FALSE(run.TakeTrain(kFirst).begins()) << "it has another one at work";
}

TEST(RunDirector, AMemberThatIsGoneMakesRoomForAnother) {
  TrialRun run(PlanOfConcurrency(100));
  run.TakeTrain(kFirst);
  run.director.TakeBack(kFirst);
  run.TakeTrain(kSecond);
  ExpectWaits(run, kFirst);
}

TEST(RunDirector, TellsEachMemberItsPartOfWhatMayBeAtWork) {
  TrialRun run(PlanOfConcurrency(100));
  run.director.Reach(700);
  EXPECT_EQ(run.director.Next(kFirst, run.now_ms).concurrency(), 8u);
  EXPECT_EQ(run.director.Next(kSecond, run.now_ms).concurrency(), 4u);
  EXPECT_EQ(run.director.Next(kThird, run.now_ms).concurrency(), 2u);
}

// Seats in their order, of those that have asked.
TEST(RunDirector, TellsATrainerWhichOfHowManyItIs) {
  TrialRun run(PlanOfConcurrency(0));
  run.director.Next(kSecond, run.now_ms);
  const v1::WorkReply first = run.director.Next(kFirst, run.now_ms);
  EXPECT_EQ(first.trainer_count(), 2u);
  EXPECT_EQ(first.rank(), 0u);
  const v1::WorkReply third = run.director.Next(kThird, run.now_ms);
  EXPECT_EQ(third.trainer_count(), 3u);
  EXPECT_EQ(third.rank(), 2u);
}

TEST(RunDirector, EvaluatesWithAllMembersFromTheStart) {
  TrialRun run(PlanOfConcurrency(100), 10, 35);
  run.Complete(kFirst, run.TakeTrain(kFirst));
  run.Complete(kFirst, run.TakeTrain(kFirst));  // past the end
  run.TakeTest(kFirst);
  run.TakeTest(kSecond);
  run.TakeTest(kThird);
}

TEST(RunDirector, AConcurrencyOfOneTrainsAllOfIt) {
  TrialRun run(PlanOfConcurrency(0, 1));
  run.WorkToTheEnd();
  EXPECT_EQ(run.director.samples(), 100u);
  EXPECT_EQ(run.director.state(), RunDirector::State::kFinished);
}

TEST(PlanRun, CountsFilesAndLines) {
  v1::Config config;
  v1::DataConfig& data = *config.mutable_data();
  data.set_batch_size(128);
  data.set_chunk_batches(4);
  data.set_epochs(2);
  data.mutable_criteo_tsv();
  for (const char* file : {"a", "b", "c"}) data.add_train(file);
  data.add_test("d");
  config.mutable_run()->set_evaluate_every_samples(1000);
  const RunPlan plan = PlanRun(config);
  EXPECT_EQ(plan.train_file_count, 3u);
  EXPECT_EQ(plan.test_file_count, 1u);
  EXPECT_EQ(plan.epoch_count, 2u);
  EXPECT_EQ(plan.lines_per_chunk, 512u);
  EXPECT_EQ(plan.evaluate_every_samples, 1000u);

  data.mutable_synthetic()->set_test_rows(0);
  EXPECT_EQ(PlanRun(config).train_file_count, 1u);
  EXPECT_EQ(PlanRun(config).test_file_count, 0u);
  data.mutable_synthetic()->set_test_rows(5);
  data.mutable_synthetic()->set_rows(70);
  EXPECT_EQ(PlanRun(config).train_rows, 70u);
  EXPECT_EQ(PlanRun(config).test_file_count, 1u);
}

TEST(RunDirector, LendsTestChunksOnceWhatBelongsToTheOthersHasSettled) {
  TrialRun run(Plan(0), 2 * kLines);
  run.director.AwaitSettling();
  const v1::ChunkLease first = run.TakeTrain(kFirst), second = run.TakeTrain(kSecond);
  const v1::ChunkLease third = run.TakeTrain(kFirst);
  run.Complete(kFirst, first);
  EXPECT_EQ(run.director.settling(), 0u) << "a chunk is at work";
  run.Complete(kFirst, third);
  run.Complete(kSecond, second);
  EXPECT_EQ(run.director.settling(), 1u);
  ExpectWaits(run, kFirst);
  run.director.Settled(run.now_ms);
  EXPECT_EQ(run.director.settling(), 0u);
  run.TakeTest(kFirst);
  run.director.Settled(run.now_ms);  // once is enough
  run.TakeTest(kSecond);
}

v1::FoundPlace Found(v1::InputSplit split, uint64_t chunk) {
  v1::FoundPlace found;
  found.set_split(split);
  found.mutable_place()->set_chunk(chunk);
  found.mutable_place()->set_entry(100 * chunk);
  found.mutable_place()->set_text_lines(kLines * chunk);
  return found;
}

TEST(RunDirector, ALeaseSaysWhereTheChunkOrOneBeforeItBegins) {
  TrialRun run(Plan(0));
  run.TakeTrain(kFirst);
  run.director.LearnPlace(kFirst, Found(v1::TRAIN, 1));
  run.director.LearnPlace(kFirst, Found(v1::TEST, 2));
  EXPECT_EQ(run.TakeTrain(kSecond).place().entry(), 100u);
  EXPECT_EQ(run.TakeTrain(kFirst).place().chunk(), 1u) << "of chunk 2";
  run.director.LearnPlace(kSecond, Found(v1::TRAIN, 3));
  EXPECT_EQ(run.TakeTrain(kSecond).place().chunk(), 3u);
}

TEST(RunDirector, WhereTheNextChunkBeginsIsWantedOnceAndForOthers) {
  TrialRun run(Plan(0), 3 * kLines);
  EXPECT_FALSE(run.TakeTrain(kFirst).wants_next()) << "it is alone";
  EXPECT_TRUE(run.TakeTrain(kSecond).wants_next());
  run.director.LearnPlace(kThird, Found(v1::TRAIN, 3));
  EXPECT_FALSE(run.TakeTrain(kFirst).wants_next()) << "it is known";
  run.director.TakeBack(kFirst);
  run.director.TakeBack(kSecond);
  v1::FileEnd end;
  end.set_split(v1::TRAIN);
  end.set_chunk_count(3);
  run.director.LearnEnd(kFirst, end);
  EXPECT_FALSE(run.TakeTrain(kFirst).wants_next()) << "of chunk 0: it is alone again";
  EXPECT_FALSE(run.TakeTrain(kSecond).wants_next()) << "of chunk 2: there is none behind it";
  EXPECT_TRUE(run.TakeTrain(kFirst).wants_next()) << "of chunk 1";
}

TEST(RunDirector, WhatCannotBeTrueOfAFileCostsItItsPlacesAlone) {
  TrialRun run(Plan(0));
  run.director.LearnPlace(kFirst, Found(v1::TRAIN, 1));
  v1::FoundPlace other = Found(v1::TRAIN, 1);
  other.mutable_place()->set_entry(99);
  run.director.LearnPlace(kSecond, other);
  run.TakeTrain(kFirst);
  EXPECT_FALSE(run.TakeTrain(kSecond).has_place());
  EXPECT_EQ(run.director.state(), RunDirector::State::kRunning);
}

// Of two members: the second waits where the first looks for its chunk, as long as it may.
TEST(RunDirector, WhoMayWaitsWhileAnotherLooksForWhereItsChunkBegins) {
  TrialRun run(Plan(0));
  const auto ask = [&](Seat member, bool may_look) {
    return run.director.Next(member, run.now_ms, may_look);
  };
  ask(kFirst, true);
  ask(kSecond, true);
  run.director.TakeWord(kSecond);
  EXPECT_TRUE(ask(kFirst, true).chunk().wants_next());
  EXPECT_EQ(ask(kSecond, true).work_case(), v1::WorkReply::kWaitMs);
  EXPECT_TRUE(run.director.AwaitsPlace(kSecond));
  const uint64_t changes = run.director.changes();
  run.director.LearnPlace(kFirst, Found(v1::TRAIN, 3));
  EXPECT_GT(run.director.changes(), changes) << "held replies are looked at again";
  EXPECT_EQ(ask(kSecond, true).chunk().place().chunk(), 3u);
  EXPECT_FALSE(run.director.AwaitsPlace(kSecond));
  EXPECT_EQ(ask(kFirst, true).work_case(), v1::WorkReply::kWaitMs);
  run.now_ms += RunDirector::kLongestLookMs;
  EXPECT_EQ(ask(kFirst, true).chunk().chunk(), 4u) << "for so long and no longer";
  EXPECT_EQ(ask(kSecond, false).chunk().chunk(), 5u) << "nor one that may not";
}

TEST(RunDirector, WhoAwaitsAPlaceDoesSoNoMoreWhenThePassIsOver) {
  TrialRun run(Plan(0), kLines);
  const v1::ChunkLease lease = run.TakeTrain(kFirst);
  run.director.Next(kSecond, run.now_ms, true);
  run.director.Next(kThird, run.now_ms, true);
  EXPECT_TRUE(run.director.AwaitsPlace(kThird));
  v1::FileEnd end;
  end.set_split(v1::TRAIN);
  end.set_chunk_count(1);
  run.director.LearnEnd(kFirst, end);
  run.director.Next(kThird, run.now_ms, true);
  EXPECT_FALSE(run.director.AwaitsPlace(kThird));
}

}  // namespace
}  // namespace weir::cluster

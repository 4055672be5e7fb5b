// A run's director after its death, in the middle of whatever the seed decides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/strings.h"
#include "common/cluster/run_director.h"
#include "tests/common/cluster/saved_books.h"

namespace weir::cluster {
namespace {

constexpr uint64_t kLinesOfChunk = 10;
constexpr uint64_t kTrainChunks = 9, kTestChunks = 3;

RunPlan AnyPlan() {
  return {.train_file_count = 2,
          .test_file_count = 1,
          .epoch_count = 2,
          .lines_per_chunk = kLinesOfChunk,
          .evaluate_every_samples = 50,
          .concurrency_warmup_steps = 10};
}

v1::Completion Completed(uint64_t lease, bool is_test, RandomStream& random) {
  v1::Completion completion;
  completion.set_lease(lease);
  completion.set_row_count(random.NextUnit() < 0.8 ? kLinesOfChunk : random.NextBelow(10));
  completion.set_has_scores(is_test);
  return completion;
}

eval::Scores ScoresFor(const v1::Completion& completion) {
  eval::Scores scores;
  if (!completion.has_scores()) return scores;
  for (uint64_t row = 0; row < completion.row_count(); ++row) {
    scores.probabilities.push_back(0.1f * static_cast<float>(row));
    scores.labels.push_back(row % 3 == 0);
  }
  return scores;
}

std::string LearnEnds(RunDirector& run) {
  for (const v1::InputSplit split : {v1::TRAIN, v1::TEST}) {
    for (uint32_t file = 0; file < (split == v1::TRAIN ? 2 : 1); ++file) {
      v1::FileEnd end;
      end.set_split(split);
      end.set_file(file);
      end.set_chunk_count(split == v1::TRAIN ? kTrainChunks : kTestChunks);
      run.LearnEnd({0, 0}, end);
    }
  }
  return StrCat(run.total_samples());
}

std::string LearnPlaceOf(RunDirector& run, Seat seat, RandomStream& random) {
  v1::FoundPlace found;
  found.set_split(random.NextUnit() < 0.5 ? v1::TRAIN : v1::TEST);
  const uint64_t chunk = 1 + random.NextBelow(8);
  found.mutable_place()->set_chunk(chunk);
  found.mutable_place()->set_entry(1000 * chunk);
  found.mutable_place()->set_text_lines(kLinesOfChunk * chunk);
  run.LearnPlace(seat, found);
  run.TakeWord(seat);
  return "";
}

// What of a run anybody sees.
std::string ShowRun(const RunDirector& run, int64_t now_ms) {
  v1::RunProgress progress;
  run.FillProgress(0, now_ms, &progress);
  std::string departures;
  for (const v1::Departure& departure : run.departures()) {
    departures += departure.ShortDebugString();
  }
  return StrCat(progress.ShortDebugString(), static_cast<int>(run.state()), run.failure(),
                run.settling(), run.awaited_work() > 0, departures);
}

void ActOnRun(RunDirector& run, Seat seat, RandomStream& random, int64_t now_ms) {
  const uint64_t lease = 1 + random.NextBelow(60);
  const bool is_test = random.NextUnit() < 0.4;
  switch (random.NextBelow(24)) {
    case 0:
      return run.TakeBack(seat);
    case 1:
      return run.Reach(random.NextBelow(60));
    case 2:
      return run.Settled(now_ms);
    case 3:
      LearnEnds(run);
      return;
    case 4:
      LearnPlaceOf(run, seat, random);
      return;
    case 5:
      return run.Advance(seat, lease, random.NextBelow(kLinesOfChunk));
    default:
      break;
  }
  const v1::Completion completion = Completed(lease, is_test, random);
  run.Complete(seat, completion, ScoresFor(completion), now_ms);
}

std::string Step(RunDirector& run, RandomStream& random) {
  const Seat seat{static_cast<uint32_t>(random.NextBelow(3)), 0};
  const auto now_ms = static_cast<int64_t>(random.NextBelow(1000));
  std::string answer;
  if (random.NextUnit() < 0.4) {
    answer = run.Next(seat, now_ms, random.NextUnit() < 0.3).ShortDebugString();
  } else {
    for (int i = 0; i < 12; ++i) ActOnRun(run, seat, random, now_ms);
  }
  if (random.NextUnit() < 0.5) {
    if (const auto scores = run.TakeScores()) run.Evaluated(Evaluate(*scores), now_ms);
  }
  return StrCat(answer, ShowRun(run, now_ms));
}

Trial<RunDirector> TrialOf(const RunPlan& plan, bool awaits_settling = false) {
  Trial<RunDirector> trial;
  trial.make = [=] {
    auto run = std::make_unique<RunDirector>(plan);
    if (awaits_settling) run->AwaitSettling();
    return run;
  };
  trial.act = Step;
  trial.events = 300;
  return trial;
}

TEST(SavedRunDirector, GoesOn) { ExpectSurvives(TrialOf(AnyPlan())); }

TEST(SavedRunDirector, GoesOnWhereStagesSettle) { ExpectSurvives(TrialOf(AnyPlan(), true)); }

TEST(SavedRunDirector, GoesOnInRounds) {
  RunPlan plan = AnyPlan();
  plan.rounds_per_chunk = 2;
  plan.first_trainer_count = 2;
  plan.concurrency_warmup_steps = 0;
  ExpectSurvives(TrialOf(plan));
}

// All chunks of the test are scored, and nobody has computed what that comes to.
class SavedEvaluation : public testing::Test {
 protected:
  SavedEvaluation() {
    LearnEnds(run_);
    v1::Completion trained = Completed(run_.Next({0, 0}, 0).chunk().lease(), false, random_);
    trained.set_row_count(kLinesOfChunk);
    run_.Complete({0, 0}, trained, {}, 0);
    for (uint64_t chunk = 0; chunk < kTestChunks; ++chunk) ScoreNext();
  }
  void ScoreNext() {
    const v1::WorkReply reply = run_.Next({0, 0}, 0);
    CHECK_EQ(reply.chunk().split(), v1::TEST);
    const v1::Completion completion = Completed(reply.chunk().lease(), true, random_);
    run_.Complete({0, 0}, completion, ScoresFor(completion), 0);
    run_.SaveChanges(&kept_);
  }
  static RunPlan EvaluatedPlan() {
    RunPlan plan = AnyPlan();
    plan.evaluate_every_samples = kLinesOfChunk;
    return plan;
  }

  RunDirector run_{EvaluatedPlan()};
  KeptParts kept_;
  RandomStream random_{1};
};

TEST_F(SavedEvaluation, IsBegunAnewAfterTheDeathOfWhoHadBegunIt) {
  const auto scores = run_.TakeScores();
  ASSERT_TRUE(scores);
  run_.SaveChanges(&kept_);
  RunDirector loaded(EvaluatedPlan());
  PartSource source(kept_.parts());
  ASSERT_TRUE(loaded.Load(&source).ok());
  const auto again = loaded.TakeScores();
  ASSERT_TRUE(again);
  EXPECT_EQ(Evaluate(*again).SerializeAsString(), Evaluate(*scores).SerializeAsString());
  EXPECT_FALSE(loaded.TakeScores()) << "once";
}

TEST_F(SavedEvaluation, ScoresAreKeptUntilItIsOver) {
  for (uint64_t chunk = 0; chunk < kTestChunks; ++chunk) {
    EXPECT_TRUE(kept_.parts().contains(StrCat("scores/0/0/", chunk)));
  }
  run_.Evaluated(Evaluate(*run_.TakeScores()), 0);
  run_.SaveChanges(&kept_);
  EXPECT_FALSE(kept_.parts().contains("scores/0/0/0"));
  EXPECT_TRUE(kept_.parts().contains("evaluation/0"));
}

}  // namespace
}  // namespace weir::cluster

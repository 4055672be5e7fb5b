// When a run has checkpoints, and how another one goes on from one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/cluster/run_director.h"
#include "tests/common/cluster/saved_books.h"
#include "tests/common/cluster/seats.h"

namespace weir::cluster {
namespace {

using testing::ElementsAre;

constexpr uint64_t kLinesLent = 10;

RunPlan PlanWith(uint64_t checkpoint_every, uint64_t evaluate_every = 0) {
  return {.train_file_count = 1,
          .test_file_count = evaluate_every > 0 ? 1u : 0u,
          .epoch_count = 1,
          .lines_per_chunk = kLinesLent,
          .evaluate_every_samples = evaluate_every,
          .checkpoint_every_samples = checkpoint_every};
}

// One trainer, ten chunks of a file, and test chunks whose scores it makes up.
class RunWithCheckpoints {
 public:
  explicit RunWithCheckpoints(const RunPlan& plan) : director(plan) {
    director.TakeCheckpointsAfter(0);
  }

  // What the trainer has to do next, until there is a checkpoint or the run is over.
  void WorkUntilCheckpoint() {
    while (director.state() == RunDirector::State::kRunning && director.checkpoint() == 0) Work();
  }
  void Work() {
    const v1::WorkReply reply = director.Next(kFirst, now_ms);
    if (reply.has_chunk()) Complete(reply.chunk());
  }
  void Complete(const v1::ChunkLease& lease) {
    const bool is_test = lease.split() == v1::TEST;
    v1::FileEnd end;
    end.set_split(lease.split());
    end.set_chunk_count(is_test ? 1 : 10);
    director.LearnEnd(kFirst, end);
    v1::Completion completion;
    completion.set_lease(lease.lease());
    completion.set_row_count(kLinesLent);
    completion.set_has_scores(is_test);
    director.Complete(kFirst, completion, is_test ? Scores() : eval::Scores{}, now_ms);
    if (const auto scores = director.TakeScores()) director.Evaluated(Evaluate(*scores), 0);
  }
  // Samples at each checkpoint of the rest of the run.
  std::vector<uint64_t> WorkToTheEnd() {
    std::vector<uint64_t> samples;
    for (WorkUntilCheckpoint(); director.checkpoint() > 0; WorkUntilCheckpoint()) {
      samples.push_back(director.samples());
      EXPECT_FALSE(director.Next(kFirst, 0).has_chunk()) << "lent while it stands still";
      director.SavedCheckpoint(0);
    }
    EXPECT_EQ(director.state(), RunDirector::State::kFinished);
    return samples;
  }

  void GoOnFrom(RunWithCheckpoints* before) {
    KeptParts kept;
    before->director.SaveChanges(&kept);
    PartSource source(kept.parts());
    ASSERT_TRUE(director.Load(&source).ok());
    director.BeginAnew();
  }

  RunDirector director;
  int64_t now_ms = 0;
  float probability = 0.5f;  // of each test row, of which half are ones

 private:
  eval::Scores Scores() const {
    eval::Scores scores;
    for (uint64_t row = 0; row < kLinesLent; ++row) {
      scores.probabilities.push_back(probability);
      scores.labels.push_back(row % 2 == 0);
    }
    return scores;
  }
};

TEST(CheckpointsOfARun, ComeEverySoManySamplesAndAtTheEnd) {
  RunWithCheckpoints run(PlanWith(30));
  EXPECT_THAT(run.WorkToTheEnd(), ElementsAre(30, 60, 90, 100));
}

TEST(CheckpointsOfARun, AtTheEndThereIsOneOfAllInAnyCase) {
  EXPECT_THAT(RunWithCheckpoints(PlanWith(0)).WorkToTheEnd(), ElementsAre(100));
  EXPECT_THAT(RunWithCheckpoints(PlanWith(50)).WorkToTheEnd(), ElementsAre(50, 100));
}

// Nobody says when all of a batch is there, where one trainer has all stages.
TEST(CheckpointsOfARun, OfStagesGoOnWithout) {
  RunWithCheckpoints staged(PlanWith(30));
  staged.director.AwaitSettling();
  while (staged.director.settling() == 0) staged.Work();
  staged.director.Settled(0);
  ASSERT_GT(staged.director.checkpoint(), 0u);
  RunWithCheckpoints other(PlanWith(30));
  other.GoOnFrom(&staged);
  while (other.director.checkpoint() == 0 && other.director.settling() == 0) other.Work();
  EXPECT_EQ(other.director.settling(), 0u) << "it would wait for ever";
}

TEST(CheckpointsOfARun, HaveTheTimeThatWasTrained) {
  RunWithCheckpoints run(PlanWith(30));
  run.now_ms = 1000;
  run.Work();
  run.now_ms = 5000;
  run.WorkUntilCheckpoint();
  RunWithCheckpoints other(PlanWith(30));
  other.GoOnFrom(&run);
  EXPECT_EQ(other.director.TrainSeconds(9000), 4);
}

TEST(CheckpointsOfARun, AreTakenWhenSomebodyWantsOne) {
  RunWithCheckpoints run(PlanWith(0));
  run.Work();
  run.director.WantCheckpoint();
  EXPECT_THAT(run.WorkToTheEnd(), ElementsAre(10, 100));
}

// So that a run repeats to the bit, however long it takes to write one.
TEST(CheckpointsOfARun, ThatAreWantedWaitForTheOneBeforeAndOthersDoNot) {
  RunWithCheckpoints run(PlanWith(60));
  run.Work();
  run.director.WantCheckpoint();
  run.WorkUntilCheckpoint();
  EXPECT_EQ(run.director.samples(), 10u);
  run.director.SetCheckpointAtWork(true);
  run.director.SavedCheckpoint(0);
  for (int i = 0; i < 3; ++i) run.Work();
  run.director.WantCheckpoint();
  run.WorkUntilCheckpoint();
  EXPECT_EQ(run.director.samples(), 60u);
  run.director.SetCheckpointAtWork(false);
  EXPECT_THAT(run.WorkToTheEnd(), ElementsAre(60, 100));
}

TEST(CheckpointsOfARun, ComeBehindEachEvaluationThatIsTheBestSoFar) {
  RunWithCheckpoints run(PlanWith(0, 20));
  std::vector<uint64_t> samples;
  const float probabilities[] = {0.6f, 0.55f, 0.7f, 0.7f, 0.5f};
  for (const float probability : probabilities) {
    run.probability = probability;
    const size_t known = run.director.evaluations().size();
    while (run.director.evaluations().size() == known) run.Work();
    if (run.director.checkpoint() == 0) continue;
    samples.push_back(run.director.samples());
    EXPECT_TRUE(run.director.test_logloss());
    run.director.SavedCheckpoint(0);
  }
  EXPECT_THAT(samples, ElementsAre(20, 40, 100));
}

TEST(CheckpointsOfARun, AreNumberedBehindThoseThatAreThere) {
  RunWithCheckpoints run(PlanWith(30));
  run.director.TakeCheckpointsAfter(7);
  run.WorkUntilCheckpoint();
  EXPECT_EQ(run.director.checkpoint(), 8u);
}

// What another run loads has all that was trained, whoever was there then.
TEST(CheckpointsOfARun, AreWhatAnotherRunGoesOnFrom) {
  RunWithCheckpoints run(PlanWith(30));
  run.WorkUntilCheckpoint();
  RunWithCheckpoints other(PlanWith(30));
  other.GoOnFrom(&run);
  other.director.TakeCheckpointsAfter(1);
  EXPECT_EQ(other.director.samples(), 30u);
  EXPECT_EQ(other.director.Next(kSecond, 0).chunk().chunk(), 3u);
  other.director.TakeBack(kSecond);
  EXPECT_THAT(other.WorkToTheEnd(), ElementsAre(60, 90, 100));
}

}  // namespace
}  // namespace weir::cluster

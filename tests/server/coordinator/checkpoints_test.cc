#include "server/coordinator/checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/server/server_test_support.h"

namespace weir::server {
namespace {

constexpr cluster::Seat kOnlyTrainer{0, 0};

v1::Config CheckpointConfig() {
  v1::Config config = TinyConfig();  // two chunks of 10 rows
  config.mutable_data()->mutable_synthetic()->set_test_rows(0);
  config.mutable_run()->set_checkpoint_every_samples(10);
  return config;
}

// A coordinator's book of a run, one trainer and one server.
class CheckpointsOfOneServer : public testing::Test {
 protected:
  CheckpointsOfOneServer() { checkpoints_.Start({.last_number = 4, .lineage = 9}); }

  void TrainChunk() {
    v1::WorkRequest request;
    v1::Completion& completion = *request.add_completions();
    completion.set_lease(run_.director().Next(kOnlyTrainer, 0).chunk().lease());
    completion.set_row_count(10);
    run_.TakeWork(request, kOnlyTrainer, {{}}, 0);
  }
  uint64_t Told() const {
    v1::WorkReply reply;
    checkpoints_.Fill(kOnlyTrainer, &reply);
    return reply.checkpoint();
  }
  void Say(bool is_written, const std::string& failure = "") {
    v1::WorkRequest request;
    request.mutable_checkpoint()->set_number(5);
    request.mutable_checkpoint()->set_is_written(is_written);
    request.mutable_checkpoint()->set_failure(failure);
    checkpoints_.Take(kOnlyTrainer, request);
  }
  // Until it is written in the background.
  void PutAside() {
    TrainChunk();
    checkpoints_.Step(false, 0);
    checkpoints_.OnFolder();
    Say(false);
    checkpoints_.Step(true, 0);
  }
  Checkpoints::Whole TakeWhole() {
    v1::PartReport part;
    part.set_checkpoint(5);
    part.set_is_done(true);
    checkpoints_.TakePart(0, part);
    Say(true);
    auto whole = checkpoints_.TakeWhole();
    CHECK(whole);
    return *std::move(whole);
  }

  const v1::Config config_ = CheckpointConfig();
  cluster::RunBook run_{config_, {}};
  Checkpoints checkpoints_{config_, 1, &run_};
};

TEST_F(CheckpointsOfOneServer, ATrainerIsToldOnceThereIsAFolder) {
  TrainChunk();
  checkpoints_.Step(false, 0);
  EXPECT_EQ(checkpoints_.awaits_folder(), 5u);
  EXPECT_EQ(Told(), 0u);
  checkpoints_.OnFolder();
  EXPECT_EQ(Told(), 5u);
  Say(false);
  EXPECT_EQ(Told(), 0u) << "again";
}

TEST_F(CheckpointsOfOneServer, TrainingGoesOnOnceAllIsPutAside) {
  PutAside();
  EXPECT_TRUE(checkpoints_.is_closing());
  EXPECT_TRUE(run_.director().Next(kOnlyTrainer, 0).has_chunk());
  EXPECT_EQ(TakeWhole().manifest.checkpoint().samples(), 10u);
  checkpoints_.OnDone();
  EXPECT_FALSE(checkpoints_.is_at_work());
}

// Training stands still meanwhile.
TEST_F(CheckpointsOfOneServer, TheNextBeginsAtOnceWhereItAwaitsTheOneBefore) {
  PutAside();
  TrainChunk();
  run_.director().Next(kOnlyTrainer, 0);
  checkpoints_.Step(false, 0);
  ASSERT_EQ(run_.director().checkpoint(), 6u);
  EXPECT_EQ(checkpoints_.awaits_folder(), 0u);
  TakeWhole();
  checkpoints_.OnDone();
  EXPECT_EQ(checkpoints_.awaits_folder(), 6u);
}

TEST_F(CheckpointsOfOneServer, TheLastOneIsWaitedFor) {
  PutAside();
  TakeWhole();
  checkpoints_.OnDone();
  v1::WorkRequest end;
  end.add_file_ends()->set_chunk_count(2);
  end.mutable_file_ends(0)->set_split(v1::TRAIN);
  run_.TakeWork(end, kOnlyTrainer, {}, 0);
  TrainChunk();
  run_.director().Next(kOnlyTrainer, 0);
  checkpoints_.Step(false, 0);
  EXPECT_EQ(checkpoints_.awaits_folder(), 6u);
  EXPECT_EQ(run_.director().state(), cluster::RunDirector::State::kRunning);
  checkpoints_.Fail("a disk is full");
  checkpoints_.Step(false, 0);
  EXPECT_EQ(run_.director().state(), cluster::RunDirector::State::kFinished);
}

TEST_F(CheckpointsOfOneServer, OneThatIsGivenUpKeepsNobodyWaiting) {
  TrainChunk();
  checkpoints_.Step(false, 0);
  checkpoints_.OnFolder();
  Say(true, "a disk is full");
  checkpoints_.Step(false, 0);
  EXPECT_FALSE(checkpoints_.is_at_work());
  EXPECT_TRUE(run_.director().Next(kOnlyTrainer, 0).has_chunk());
}

// A run that goes on from one, and then from its log.
TEST_F(CheckpointsOfOneServer, HoldAllThatTheLogOfTheNextRunNeeds) {
  PutAside();
  cluster::PartMap of_run = TakeWhole().run;
  of_run["of somebody else"] = {1};

  cluster::RunBook next(config_, {});
  Checkpoints of_next(config_, 1, &next);
  ASSERT_TRUE(of_next.Resume(of_run).ok());
  of_next.Start({});
  EXPECT_EQ(next.director().samples(), 10u);
  cluster::KeptParts log;
  of_next.SaveRun(&log);
  EXPECT_FALSE(log.parts().contains("of somebody else"));

  cluster::RunBook again(config_, {});
  Checkpoints of_again(config_, 1, &again);
  cluster::PartSource source(log.parts());
  ASSERT_TRUE(of_again.LoadRun(&source).ok());
  EXPECT_TRUE(source.CheckAllWereTaken().ok());
  EXPECT_EQ(again.director().samples(), 10u);
  EXPECT_EQ(again.director().Next(kOnlyTrainer, 0).chunk().chunk(), 1u);
}

// Of a server that was started again meanwhile, with checkpoints and without.
TEST_F(CheckpointsOfOneServer, OneThatWasAtWorkIsBegunAgainUnderAnotherNumber) {
  TrainChunk();
  ASSERT_EQ(run_.director().checkpoint(), 5u);
  cluster::KeptParts log;
  checkpoints_.SaveRun(&log);
  for (const bool has_checkpoints : {true, false}) {
    cluster::RunBook again(config_, {});
    Checkpoints of_again(config_, 1, &again);
    cluster::PartSource source(log.parts());
    ASSERT_TRUE(of_again.LoadRun(&source).ok());
    has_checkpoints ? of_again.Start({}) : of_again.Skip();
    of_again.Step(false, 0);
    EXPECT_EQ(of_again.awaits_folder(), has_checkpoints ? 6u : 0u);
    EXPECT_EQ(again.director().Next(kOnlyTrainer, 0).has_chunk(), !has_checkpoints);
  }
}

}  // namespace
}  // namespace weir::server

// A coordinator that dies after every event, and is loaded from what was saved of it.
#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "common/session/run_identity.h"
#include "tests/common/cluster/damaged_parts.h"
#include "tests/server/coordinator/asking.h"
#include "tests/support/random_workers.h"

namespace weir::server {
namespace {

using testing::HasSubstr;

v1::Config EvaluatedConfig() {
  v1::Config config = TinyConfig();
  config.mutable_run()->set_evaluate_every_samples(50);
  config.mutable_cluster()->set_concurrency_warmup_steps(3);
  return config;
}

// Returns what was saved in the end.
cluster::PartMap ExpectTrainsAll(RandomWorkers run, uint64_t* deaths) {
  run.Run();
  EXPECT_EQ(run.samples(), 10 * RandomWorkers::kTrainChunks);
  EXPECT_GT(run.evaluations(), 0u);
  EXPECT_GT(run.reported_steps(), 0u);
  EXPECT_TRUE(run.over(6000));
  *deaths += run.deaths();
  return run.twins().parts();
}

void ExpectGoesOnAfterDeath(const v1::Config& config, uint32_t stages, bool servers_save) {
  uint64_t deaths = 0;
  for (uint64_t seed = 0; seed < 20 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ExpectTrainsAll({config, 2, stages, servers_save, seed}, &deaths);
  }
  EXPECT_GT(deaths, 0u) << "of workers";
}

TEST(SavedCoordinator, GoesOnAfterItsDeath) { ExpectGoesOnAfterDeath(EvaluatedConfig(), 1, false); }

TEST(SavedCoordinator, GoesOnWhereTrainersHaveStages) {
  v1::Config config = EvaluatedConfig();
  config.mutable_pipeline()->add_split()->set_after("bottom/0");
  ExpectGoesOnAfterDeath(config, 2, false);
}

TEST(SavedCoordinator, GoesOnInRounds) {
  v1::Config config = EvaluatedConfig();
  config.mutable_cluster()->set_concurrency_warmup_steps(0);
  config.mutable_consistency()->mutable_sync()->set_trainers(2);
  config.mutable_consistency()->mutable_sync()->set_lost_trainer(v1::GO_ON);
  config::FillDefaults(&config);
  ExpectGoesOnAfterDeath(config, 1, false);
}

TEST(SavedCoordinator, GoesOnWhereServersSaveTheModel) {
  ExpectGoesOnAfterDeath(EvaluatedConfig(), 1, true);
}

class SavedRun : public testing::Test {
 protected:
  SavedRun() {
    for (const uint32_t trainer : {0, 1}) JoinAs(trainer, config_, &coordinator_);
    CHECK(AskAs(0, WaitingRequest(1), "a", 1000, &coordinator_)->work_reply().has_chunk());
    coordinator_.Tick(1000);
    Save();
  }
  void Save() { coordinator_.SaveChanges(&kept_); }
  Status Load(const cluster::PartMap& parts) {
    loaded_ = std::make_unique<Coordinator>(config_, session::MakeRunIdentity(config_, 1), 1, 77);
    return loaded_->Load(parts, 1000);
  }
  // Whatever it was loaded from.
  void GoOn() {
    v1::WorkRequest request = WaitingRequest(2);
    for (uint64_t lease = 0; lease < 3; ++lease) request.add_completions()->set_lease(lease);
    AskAs(0, request, "a", 1001, loaded_.get());
    AskAs(1, WaitingRequest(1), "b", 1001, loaded_.get());
    loaded_->Tick(1500);
    loaded_->TakeHeldReplies(1500);
    cluster::KeptParts kept;
    loaded_->SaveChanges(&kept);
  }

  const v1::Config config_ = TinyConfig();
  Coordinator coordinator_{config_, session::MakeRunIdentity(config_, 1), 1, 77};
  std::unique_ptr<Coordinator> loaded_;
  cluster::KeptParts kept_;
};

// Whoever starts it again has mended what it failed of; trainers come back, later perhaps.
TEST_F(SavedRun, OneThatHadFailedGoesOn) {
  coordinator_.Fail("server 1 has ended: the disk is full");
  for (const uint32_t trainer : {0, 1}) {
    v1::Leave leave;
    leave.mutable_speaker()->set_trainer(trainer);
    leave.mutable_speaker()->set_incarnation(1);
    leave.mutable_speaker()->set_run(77);
    coordinator_.OnLeave(leave, 1000);
  }
  coordinator_.Tick(1000);
  Save();
  ASSERT_TRUE(Load(kept_.parts()).ok());
  EXPECT_EQ(loaded_->failure(), "server 1 has ended: the disk is full");
  loaded_->TryAgain();
  loaded_->Tick(100'000);
  EXPECT_EQ(loaded_->failure(), "") << "nobody has come yet";
  EXPECT_FALSE(loaded_->over(200'000));
  JoinAs(0, config_, loaded_.get());
  v1::WorkRequest request = WaitingRequest(1);
  request.mutable_speaker()->set_run(77);
  request.mutable_speaker()->set_incarnation(2);
  const auto reply = loaded_->OnWorkRequest(request, MakeParts({}, {}), "a", 100'001);
  ASSERT_TRUE(reply.has_value());
  EXPECT_TRUE(reply->work_reply().has_chunk()) << reply->DebugString();
}

// Counts what it is told.
class CountedParts final : public cluster::SavedParts {
 public:
  void Put(std::string name, Bytes state) override {
    bytes += name.size() + state.size();
    names += name + " ";
  }
  void Remove(std::string name) override { names += "-" + name + " "; }

  size_t bytes = 0;
  std::string names;
};

TEST_F(SavedRun, HeartbeatsAndTicksChangeNothing) {
  v1::Heartbeat heartbeat;
  heartbeat.mutable_speaker()->set_incarnation(1);
  heartbeat.mutable_speaker()->set_run(coordinator_.run());
  ASSERT_TRUE(coordinator_.OnHeartbeat(heartbeat, 1700)->has_heartbeat_reply());
  coordinator_.OnWord({1, 0}, 1, 1800);
  coordinator_.Tick(1900);
  CountedParts parts;
  coordinator_.SaveChanges(&parts);
  EXPECT_EQ(parts.names, "");
}

TEST_F(SavedRun, APushChangesHowFarItsLeaseHasComeAndNoMore) {
  v1::Push push;
  push.set_lease(1);
  push.set_offset(4);
  coordinator_.OnOffset({0, 0}, push, 1);
  CountedParts parts;
  coordinator_.SaveChanges(&parts);
  EXPECT_EQ(parts.names, "train/lent/1 ");
  EXPECT_LT(parts.bytes, 30u);
}

TEST_F(SavedRun, WhoWasSilentHasTheSameTimeAgain) {
  ASSERT_TRUE(Load(kept_.parts()).ok());
  const int64_t timeout_ms = config_.cluster().member_timeout_ms();
  loaded_ = std::make_unique<Coordinator>(config_, session::MakeRunIdentity(config_, 1), 1, 77);
  ASSERT_TRUE(loaded_->Load(kept_.parts(), 5000).ok());
  loaded_->Tick(5000 + timeout_ms);
  EXPECT_FALSE(loaded_->failed());
  loaded_->Tick(5001 + timeout_ms);
  EXPECT_THAT(loaded_->failure(), HasSubstr("all trainers are gone"));
}

TEST_F(SavedRun, RefusesPartsOfWhichItKnowsNothing) {
  cluster::PartMap parts = kept_.parts();
  parts["future"] = {1};
  EXPECT_THAT(Load(parts).message(), HasSubstr("1 parts are unknown"));
  EXPECT_THAT(Load({}).message(), HasSubstr("lacks \"coordinator\""));
}

TEST_F(SavedRun, RefusesWhatIsTooShort) {
  const google::protobuf::LogSilencer silencer;
  for (const auto& [name, state] : kept_.parts()) {
    for (size_t size = 0; size < state.size(); ++size) {
      cluster::PartMap parts = kept_.parts();
      parts[name].resize(size);
      ASSERT_EQ(Load(parts).code(), StatusCode::kInvalidData) << name << " of " << size;
    }
  }
}

TEST_F(SavedRun, BearsDamage) {
  const google::protobuf::LogSilencer silencer;
  RandomStream random(5);
  int loads = 0;
  for (int i = 0; i < 1000; ++i) {
    if (!Load(cluster::Damaged(kept_.parts(), random)).ok()) continue;
    ++loads;
    GoOn();
  }
  EXPECT_GT(loads, 10);
}

}  // namespace
}  // namespace weir::server

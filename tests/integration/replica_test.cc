// Workers' replicas against the servers' pieces: after any number of pushes by several workers,
// with several in flight each, a replica that was refreshed equals the servers in every element.
#include <gtest/gtest.h>

#include <thread>

#include "common/base/random.h"
#include "common/device/cpu_device.h"
#include "common/wire/value_coding.h"
#include "tests/integration/cluster_checks.h"
#include "tests/support/loopback_cluster.h"

namespace weir::test {
namespace {

constexpr int kRounds = 3;
constexpr int kStepsPerRound = 40;

struct Case {
  std::string name;
  std::string config;
  bool rounded = false;  // answers carry BF16
  int threads = 1;       // per worker
  transport::FaultPlan faults = {};
};

transport::FaultPlan Faults(uint64_t seed) {
  transport::FaultPlan faults;
  faults.seed = seed;
  faults.break_probability = 0.01;
  faults.drop_probability = 0.005;
  faults.duplicate_probability = 0.01;
  return faults;
}

transport::FaultPlan Flips(uint64_t seed) {
  transport::FaultPlan faults;
  faults.seed = seed;
  faults.flip_probability = 0.03;
  return faults;
}

class ReplicaTest : public testing::TestWithParam<Case> {
 protected:
  static constexpr uint32_t kWorkers = 2;

  ReplicaTest()
      : cluster_(MakeConfig({kPushedModel, GetParam().config}),
                 {.servers = 3, .trainers = kWorkers, .faults = GetParam().faults}) {}

  // One thread's pushes of random gradients; several may be under way at any moment.
  void PushSteps(uint32_t worker, int thread, int round) {
    data::Batch batch;
    batch.row_count = 1;
    batch.tables.resize(cluster_.layout().tables().size());
    std::vector<float> gradients(static_cast<size_t>(cluster_.layout().flat_element_count()));
    const auto scratch = clients_[worker]->NewPushScratch();
    RandomStream random(7, worker, thread, round);
    for (int step = 0; step < kStepsPerRound; ++step) {
      for (float& value : gradients) value = static_cast<float>(random.NextUnit() - 0.5);
      worker::StepGradients push;
      push.batch = &batch;
      push.scratch = scratch.get();
      push.dense = device::OnCpu(std::span<const float>(gradients));
      push.mark = clients_[worker]->MarkRead();
      const auto sequence = clients_[worker]->Push(push);
      ASSERT_TRUE(sequence.ok()) << sequence.status();
    }
  }

  void PushFromAllThreads(int round) {
    std::vector<std::thread> threads;
    for (uint32_t worker = 0; worker < kWorkers; ++worker) {
      for (int thread = 0; thread < GetParam().threads; ++thread) {
        threads.emplace_back([=, this] { PushSteps(worker, thread, round); });
      }
    }
    for (std::thread& thread : threads) thread.join();
  }

  void ExpectReplicaIsTheServers(uint32_t worker) {
    std::vector<float> expected = cluster_.ServerValues();
    const float* replica = device::OnHost(clients_[worker]->replica());
    for (size_t i = 0; i < expected.size(); ++i) {
      const float value = GetParam().rounded ? wire::RoundToBf16(expected[i]) : expected[i];
      ASSERT_EQ(replica[i], value) << "worker " << worker << " element " << i;
    }
  }

  LoopbackCluster cluster_;
  std::vector<std::unique_ptr<worker::ServerClient>> clients_;
};

TEST_P(ReplicaTest, EqualsTheServersAtEveryQuietMoment) {
  cluster_.StartServers();
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    clients_.push_back(cluster_.MakeClient(worker));
    const Status status = clients_.back()->Connect();
    ASSERT_TRUE(status.ok()) << status;
  }
  const std::vector<float> initial = cluster_.ServerValues();
  for (int round = 0; round < kRounds; ++round) {
    PushFromAllThreads(round);
    // The first refresh waits for a worker's own pushes, the second sees the other's.
    for (const auto& client : clients_) ASSERT_TRUE(client->Refresh().ok());
    for (const auto& client : clients_) ASSERT_TRUE(client->Refresh().ok());
    for (uint32_t worker = 0; worker < kWorkers; ++worker) ExpectReplicaIsTheServers(worker);
    if (HasFatalFailure()) break;
  }
  EXPECT_NE(cluster_.ServerValues(), initial);
  clients_.clear();
  cluster_.StopServers();
}

INSTANTIATE_TEST_SUITE_P(
    All, ReplicaTest,
    testing::Values(
        Case{"Dense", ""}, Case{"Dct", kDct},
        Case{"Bf16Answers", "cluster { answer_values: BF16 }", true},
        Case{"SeveralThreads", kDct, false, 3}, Case{"FaultsDense", "", false, 1, Faults(1)},
        Case{"FaultsDct", kDct, false, 1, Faults(2)},
        Case{"FaultsBf16Answers", "cluster { answer_values: BF16 }", true, 1, Faults(3)},
        Case{"FaultsSeveralThreads", kDct, false, 3, Faults(4)},
        Case{"FlipsDense", "", false, 1, Flips(5)}, Case{"FlipsDct", kDct, false, 1, Flips(6)},
        Case{"FlipsSeveralThreads", kDct, false, 3, Flips(7)}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace weir::test

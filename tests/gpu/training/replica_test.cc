// Replicas on a card against the servers' pieces, after pushes from several streams.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "common/base/random.h"
#include "common/device/buffers.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/integration/cluster_checks.h"
#include "tests/support/loopback_cluster.h"
#include "worker/link/replica.h"

namespace weir::test {
namespace {

// Nothing of that size is made.
TEST(ReplicasOnACard, HaveNumbersForSoManyElements) {
  WEIR_SKIP_WITHOUT_A_CARD();
  const auto card = OpenCard();
  const auto compute = gpu::CudaCompute(*card, kernels::Precision::kF32, 64);
  const ModelLayout small(MakeConfig({kPushedModel}), 1);
  EXPECT_TRUE(worker::CheckReplica(small, compute).ok());
  const ModelLayout large(
      MakeConfig({kPushedModel, "model { bottom_widths: [65000, 65000, 65000, 8] }"}), 1);
  EXPECT_EQ(worker::CheckReplica(large, compute).code(), StatusCode::kInvalidConfig);
  EXPECT_TRUE(worker::CheckReplica(large, kernels::CpuCompute(kernels::Precision::kF32)).ok());
}

class ReplicaOnACard : public testing::TestWithParam<const char*> {
 protected:
  static constexpr int kThreads = 2, kSteps = 10;

  // One thread's pushes of random gradients, by a stream of its own.
  void PushSteps(uint64_t thread) {
    const auto stream = card_->MakeStream();
    std::vector<float> gradients(flat_);
    const device::Buffer<float> on_card(*card_, flat_, "a test");
    data::Batch batch;
    batch.row_count = 1;
    batch.tables.resize(cluster_.layout().tables().size());
    const auto scratch = client_->NewPushScratch();
    RandomStream random(7, thread);
    for (int step = 0; step < kSteps; ++step) {
      for (float& value : gradients) value = static_cast<float>(random.NextUnit() - 0.5);
      stream->CopyToDevice<float>(gradients, on_card.span());
      worker::StepGradients push;
      push.batch = &batch;
      push.scratch = scratch.get();
      push.dense = on_card.span();
      push.stream = stream.get();
      push.mark = client_->MarkRead();
      const auto sequence = client_->Push(push);
      ASSERT_TRUE(sequence.ok()) << sequence.status();
    }
  }

  std::vector<float> Replica() const {
    const auto stream = card_->MakeStream();
    std::vector<float> values(flat_);
    stream->CopyToHost<float>({client_->replica(), flat_}, values);
    EXPECT_TRUE(stream->Synchronize().ok());
    return values;
  }

  const std::unique_ptr<gpu::CudaDevice> card_ = OpenCard();
  LoopbackCluster cluster_{
      MakeConfig({kPushedModel, GetParam()}),
      {.servers = 3, .trainers = 1, .faults = {}, .compute = [this](uint32_t, uint32_t) {
         return gpu::CudaCompute(*card_, kernels::Precision::kF32, 64);
       }}};
  const size_t flat_ = static_cast<size_t>(cluster_.layout().flat_element_count());
  std::unique_ptr<worker::ServerClient> client_;
};

TEST_P(ReplicaOnACard, EqualsTheServersAtEveryQuietMoment) {
  WEIR_SKIP_WITHOUT_A_CARD();
  cluster_.StartServers();
  client_ = cluster_.MakeClient(0);
  ASSERT_TRUE(client_->Connect().ok());
  EXPECT_EQ(Replica(), cluster_.ServerValues()) << "as it was pulled";
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, thread] { PushSteps(thread); });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(client_->Refresh().ok());
  EXPECT_EQ(Replica(), cluster_.ServerValues());
  client_.reset();
  cluster_.StopServers();
}

INSTANTIATE_TEST_SUITE_P(SparseAndDense, ReplicaOnACard, testing::Values(kDct, ""));

}  // namespace
}  // namespace weir::test

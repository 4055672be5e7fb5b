// A run in which one trainer pushes gradients that are a million times too large, as who has stolen
// its secret may: with update.*.max_push_norm, and without.
//
// In rounds, so that what comes out does not depend on time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/kernels/views.h"
#include "tests/integration/cluster_checks.h"

namespace weir::test {
namespace {

constexpr uint32_t kPoisoned = 1;
constexpr float kTooLarge = 1e6f;

constexpr char kThreeInRounds[] = R"(
    consistency { sync { trainers: 3 } }
    update { dense { sgd { learning_rate: 0.1 } } rows { sgd { learning_rate: 1 } } })";
constexpr char kBounds[] = R"(
    update { dense { max_push_norm: 2 } rows { max_push_norm: 0.1 } })";

// All gradients of a step go by that of the loss.
void PoisonedLoss(device::Stream& stream, const kernels::Loss& loss,
                  const kernels::ConstDeviceVector& logits,
                  const kernels::ConstDeviceVector& labels, int64_t mean_rows,
                  const kernels::DeviceVector& logit_gradients, device::Pointer<double> sum) {
  kernels::CpuCompute(kernels::Precision::kF32)
      .kernels->loss(stream, loss, logits, labels, mean_rows, logit_gradients, sum);
  float* const gradients = logit_gradients.data.address();
  for (int64_t i = 0; i < logit_gradients.count; ++i) gradients[i] *= kTooLarge;
}

kernels::Compute Poisoned() {
  static const kernels::DeviceKernels cpu_kernels = [] {
    kernels::DeviceKernels table = *kernels::CpuCompute(kernels::Precision::kF32).kernels;
    table.loss = PoisonedLoss;
    return table;
  }();
  kernels::Compute compute = kernels::CpuCompute(kernels::Precision::kF32);
  compute.kernels = &cpu_kernels;
  return compute;
}

struct PoisonedRun {
  std::vector<Status> statuses;
  std::vector<float> values;
  uint64_t rows = 0;
  uint64_t rounds = 0;
  v1::RunReport report;
};

PoisonedRun RunWithThree(const char* bounds, bool is_poisoned) {
  ClusterOptions options{.servers = 1, .trainers = 3, .threads = 1, .faults = {}};
  if (is_poisoned) {
    options.compute = [](uint32_t trainer, uint32_t) {
      return trainer == kPoisoned ? Poisoned() : kernels::CpuCompute(kernels::Precision::kF32);
    };
  }
  LoopbackCluster cluster(MakeConfig({kSmallRun, kThreeInRounds, bounds}), options);
  cluster.Run();
  PoisonedRun run{cluster.trainer_statuses(), cluster.ServerValues(), cluster.RowsHash(),
                  cluster.ServerVersions()[0], cluster.report()};
  return run;
}

bool HasLearned(const PoisonedRun& run) {
  return std::ranges::all_of(run.statuses, &Status::ok) && run.report.test().samples() > 0 &&
         run.report.test().normalized_entropy() < 1;
}

TEST(PoisonedTrainer, ARunWithBoundsLearnsAllTheSame) {
  const PoisonedRun run = RunWithThree(kBounds, true);
  EXPECT_TRUE(HasLearned(run)) << run.report.test().DebugString();
  EXPECT_GT(run.report.test().auc(), 0.6);
}

TEST(PoisonedTrainer, ARunWithoutIsRuined) {
  const PoisonedRun run = RunWithThree("", true);
  EXPECT_FALSE(HasLearned(run)) << run.report.test().DebugString();
  EXPECT_TRUE(run.report.bounded().empty());
}

// Of the others hardly anything is above the bounds, though the model was shaken.
TEST(PoisonedTrainer, IsNamedInTheRunsReport) {
  const PoisonedRun run = RunWithThree(kBounds, true);
  uint64_t poisoned = 0, others = 0;
  for (const v1::BoundedReport& bounded : run.report.bounded()) {
    const uint64_t parts = bounded.pieces() + bounded.rows();
    (bounded.trainer() == kPoisoned ? poisoned : others) += parts;
    if (bounded.trainer() != kPoisoned) continue;
    EXPECT_GT(bounded.pushes(), run.rounds * 9 / 10) << "but for rounds without a batch for it";
    EXPECT_LE(bounded.pushes(), run.rounds);
    EXPECT_GT(bounded.pieces(), bounded.pushes());
    EXPECT_GT(bounded.rows(), bounded.pushes());
  }
  EXPECT_GT(poisoned, 100 * others) << run.report.ShortDebugString();
  EXPECT_THAT(run.report.warnings(), testing::Contains(testing::HasSubstr("above max_push_norm")));
}

TEST(PoisonedTrainer, BoundsChangeNothingWhereNobodyIsAboveThem) {
  const PoisonedRun with = RunWithThree(kBounds, false), without = RunWithThree("", false);
  EXPECT_EQ(with.values, without.values);
  EXPECT_EQ(with.rows, without.rows);
  EXPECT_TRUE(with.report.bounded().empty()) << with.report.bounded(0).DebugString();
}

TEST(PoisonedTrainer, TwoRunsWithOneAreTheSameToTheBit) {
  const PoisonedRun first = RunWithThree(kBounds, true), second = RunWithThree(kBounds, true);
  EXPECT_EQ(first.values, second.values);
  EXPECT_EQ(first.rows, second.rows);
}

}  // namespace
}  // namespace weir::test

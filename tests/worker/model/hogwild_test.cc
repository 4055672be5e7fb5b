// Threads that share one replica while it is written, as in a running worker. What this asserts is
// mostly ThreadSanitizer's to check.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "common/base/hogwild.h"
#include "common/kernels/compute.h"
#include "tests/worker/model/host_step.h"
#include "tests/worker/model/model_support.h"
#include "worker/model/dlrm.h"

namespace weir::model {
namespace {

void StepOnAReplicaThatIsBeingWritten(kernels::Precision precision) {
  const ModelLayout layout = test::MakeLayout({13, 5, 16, {64, 32, 16}, {64, 1}});
  tensor::AlignedBuffer replica = test::InitialParameters(layout);
  const tensor::AlignedBuffer answer = test::InitialParameters(layout);
  tensor::AlignedBuffer squares(test::FlatSize(layout));
  const compress::SquareSumsOfTensors sums = test::SquareSumsIn(layout, squares.span(), 0.9f);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) hogwild::Copy(answer.data(), replica.data(), replica.size());
  });
  const auto train = [&](uint64_t seed) {
    Dlrm model(layout, kernels::CpuCompute(precision), sums);
    const data::Batch batch = test::RandomBatch(layout, 32, 10, seed);
    const std::vector<float> rows = test::RandomRows(layout, batch, seed);
    tensor::AlignedBuffer gradients(test::FlatSize(layout));
    std::vector<float> row_gradients(rows.size());
    for (int step = 0; step < 20; ++step) {
      EXPECT_TRUE(test::Train(&model, replica.data(), batch, rows, batch.row_count,
                              {gradients.data(), row_gradients, {}})
                      .ok());
    }
  };
  std::thread first([&] { train(1); });
  std::thread second([&] { train(2); });
  first.join();
  second.join();
  stop = true;
  writer.join();
  EXPECT_GT(squares.data()[0], 0);
}

double Total(std::span<const float> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Where two threads meet, squares are lost: seldom.
TEST(DlrmHogwild, ThreadsAddUpNearlyAllOfTheirSquares) {
  constexpr int kSteps = 50;
  const ModelLayout layout = test::MakeLayout({13, 5, 16, {256, 128, 16}, {256, 1}});
  const tensor::AlignedBuffer parameters = test::InitialParameters(layout);
  const data::Batch batch = test::RandomBatch(layout, 64, 10, 1);
  const std::vector<float> rows = test::RandomRows(layout, batch, 1);
  tensor::AlignedBuffer once(test::FlatSize(layout)), shared(test::FlatSize(layout));
  const auto train = [&](std::span<float> squares, int steps) {
    Dlrm model(layout, kernels::CpuCompute(kernels::Precision::kF32),
               test::SquareSumsIn(layout, squares, 1));
    tensor::AlignedBuffer gradients(test::FlatSize(layout));
    std::vector<float> row_gradients(rows.size());
    for (int step = 0; step < steps; ++step) {
      EXPECT_TRUE(test::Train(&model, parameters.data(), batch, rows, batch.row_count,
                              {gradients.data(), row_gradients, {}})
                      .ok());
    }
  };
  train(once.span(), 1);
  std::thread first([&] { train(shared.span(), kSteps); });
  std::thread second([&] { train(shared.span(), kSteps); });
  first.join();
  second.join();
  const double all = 2 * kSteps * Total(once.span());
  EXPECT_LT(Total(shared.span()), 1.001 * all);
  EXPECT_GT(Total(shared.span()), 0.8 * all);
}

TEST(DlrmHogwild, ThreadsStepOnAReplicaThatIsBeingWritten) {
  StepOnAReplicaThatIsBeingWritten(kernels::Precision::kF32);
}

TEST(DlrmHogwild, ThreadsWithBf16ProductsStepOnAReplicaThatIsBeingWritten) {
  StepOnAReplicaThatIsBeingWritten(kernels::Precision::kBf16);
}

}  // namespace
}  // namespace weir::model

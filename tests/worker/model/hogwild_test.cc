// Threads that share one replica while it is written, as in a running worker. What this asserts is
// mostly ThreadSanitizer's to check.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "common/base/hogwild.h"
#include "common/kernels/cpu_kernels.h"
#include "tests/worker/model/model_support.h"
#include "worker/model/dlrm.h"

namespace weir::model {
namespace {

void StepOnAReplicaThatIsBeingWritten(const kernels::KernelTable& kernels) {
  const ModelLayout layout = test::MakeLayout({13, 5, 16, {64, 32, 16}, {64, 1}});
  tensor::AlignedBuffer replica = test::InitialParameters(layout);
  const tensor::AlignedBuffer answer = test::InitialParameters(layout);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) hogwild::Copy(answer.data(), replica.data(), replica.size());
  });
  const auto train = [&](uint64_t seed) {
    Dlrm model(layout, kernels);
    const data::Batch batch = test::RandomBatch(layout, 32, 10, seed);
    const std::vector<float> rows = test::RandomRows(layout, batch, seed);
    tensor::AlignedBuffer gradients(test::FlatSize(layout));
    std::vector<float> row_gradients(rows.size());
    for (int step = 0; step < 20; ++step) {
      EXPECT_TRUE(
          model.Train(replica.data(), batch, rows, batch.row_count, gradients.data(), row_gradients)
              .ok());
    }
  };
  std::thread first([&] { train(1); });
  std::thread second([&] { train(2); });
  first.join();
  second.join();
  stop = true;
  writer.join();
}

TEST(DlrmHogwild, ThreadsStepOnAReplicaThatIsBeingWritten) {
  StepOnAReplicaThatIsBeingWritten(kernels::CpuKernels());
}

TEST(DlrmHogwild, ThreadsWithBf16ProductsStepOnAReplicaThatIsBeingWritten) {
  StepOnAReplicaThatIsBeingWritten(kernels::CpuBf16Kernels());
}

}  // namespace
}  // namespace weir::model

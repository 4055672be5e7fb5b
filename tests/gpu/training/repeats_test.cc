// What a step enqueues with the same arguments each time is a graph, and does what it would do as
// it comes.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/gpu/training/card_runs.h"
#include "worker/step/dead_units.h"

namespace weir::test {
namespace {

constexpr uint64_t kSteps = 100;  // of kSmallModel

// What a run of one thread enqueues, and how it ends.
struct CountedRun {
  CardEnqueued enqueued;
  v1::RunReport report;
};

CountedRun RunCounted(const v1::Config& config) {
  const Card card(config);
  const CardEnqueued before = EnqueuedOnCard();
  const auto report = RunEmbedded(config, card.compute());
  CHECK(report.ok()) << report.status();
  const CardEnqueued after = EnqueuedOnCard();
  return {{after.graphs - before.graphs, after.alone - before.alone}, *report};
}

TEST(RepeatsOnACard, ClippingOfTheDenseGradientIsAGraph) {
  if (!kIsEmulated) GTEST_SKIP() << "of a real one nobody counts";
  const v1::Config config = MakeConfig({kSmallModel, "update { dense { clip_norm: 0.05 } }"});
  const CountedRun plain = RunCounted(MakeConfig({kSmallModel})), clipped = RunCounted(config);
  // But for the first few, while scratch memory grows: three kernels each.
  EXPECT_GT(clipped.enqueued.graphs, plain.enqueued.graphs + kSteps - 5);
  EXPECT_LT(clipped.enqueued.alone, plain.enqueued.alone + 15);
  const auto on_cpu = RunEmbedded(config, kernels::CpuCompute(kernels::Precision::kF32));
  ASSERT_TRUE(on_cpu.ok());
  EXPECT_NEAR(clipped.report.test().logloss(), on_cpu->test().logloss(), 1e-5);
  EXPECT_NE(clipped.report.test().logloss(), plain.report.test().logloss());
}

// Steps of one thread on a card, whose first layer has a gradient for its first five units, for one
// in each step.
class MarkedUnits {
 public:
  void Step(int step) {
    const TensorSpec& bias = layout_.tensors()[layout_.bottom_weights()[0] + 1];
    std::vector<float> gradients(on_card_.size());
    gradients[static_cast<size_t>(bias.offset + step % 5)] = 1;
    stream_->CopyToDevice<float>(gradients, on_card_.span());
    ASSERT_TRUE(stream_->Synchronize().ok());
    const CardEnqueued before = EnqueuedOnCard();
    ASSERT_TRUE(watch_.Add(*stream_, on_card_.data(), 32).ok());
    if (!kIsEmulated || step == 0 || step + 1 == worker::DeadUnits::kSteps) return;
    EXPECT_EQ(EnqueuedOnCard().graphs, before.graphs + 1);
    EXPECT_EQ(EnqueuedOnCard().alone, before.alone);
  }
  v1::WorkerReport Report() const {
    v1::WorkerReport report;
    units_.FillReport(&report);
    return report;
  }

 private:
  const v1::Config config_ = MakeConfig({kSmallModel});
  const ModelLayout layout_{config_, 1};
  const Card card_{config_};
  const std::unique_ptr<device::Stream> stream_ = card_.compute().device->MakeStream();
  const device::Buffer<float> on_card_{*card_.compute().device,
                                       static_cast<size_t>(layout_.flat_element_count()), "a test"};
  worker::DeadUnits units_{layout_};
  worker::DeadUnits::Watch watch_{&units_, card_.compute()};
};

TEST(RepeatsOnACard, UnitsThatAreAliveAreMarkedInAGraph) {
  WEIR_SKIP_WITHOUT_A_CARD();
  MarkedUnits units;
  for (int step = 0; step < worker::DeadUnits::kSteps; ++step) {
    SCOPED_TRACE(step);
    units.Step(step);
  }
  const v1::WorkerReport report = units.Report();
  ASSERT_GT(report.dead_units_size(), 1);
  EXPECT_EQ(report.dead_units(0).dead() + 5, report.dead_units(0).units());
  EXPECT_EQ(report.dead_units(1).dead(), report.dead_units(1).units());
}

}  // namespace
}  // namespace weir::test

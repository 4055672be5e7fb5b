#include "worker/step/dead_units.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/config/defaults.h"
#include "common/device/cpu_device.h"

namespace weir::worker {
namespace {

class DeadUnitsTest : public testing::Test {
 protected:
  // Every unit of ReLUs has a gradient in each step, but those of the first layer from `alive` on.
  void Step(DeadUnits::Watch* watch, size_t alive) {
    std::vector<float> gradients(static_cast<size_t>(layout_.flat_element_count()), 1.0f);
    const TensorSpec& bias = layout_.tensors()[layout_.bottom_weights()[0] + 1];
    for (size_t unit = alive; unit < static_cast<size_t>(bias.element_count()); ++unit) {
      gradients[static_cast<size_t>(bias.offset) + unit] = 0;
    }
    const float* const flat = gradients.data();
    EXPECT_TRUE(watch->Add(device::CpuStream(), device::OnCpu(flat), 32).ok());
  }
  v1::WorkerReport Report() const {
    v1::WorkerReport report;
    units_.FillReport(&report);
    return report;
  }

  static v1::Config MakeConfig() {
    v1::Config config;
    config.mutable_data()->mutable_synthetic()->set_rows(10);
    for (const int width : {6, 4}) config.mutable_model()->add_bottom_widths(width);
    for (const int width : {5, 1}) config.mutable_model()->add_top_widths(width);
    config.mutable_model()->set_embedding_dimension(4);
    config::FillDefaults(&config);
    return config;
  }

  const v1::Config config_ = MakeConfig();
  const ModelLayout layout_{config_, 1};
  DeadUnits units_{layout_};
  const kernels::Compute compute_ = kernels::CpuCompute(kernels::Precision::kF32);
};

TEST_F(DeadUnitsTest, AreThoseWithoutAGradientInManySteps) {
  DeadUnits::Watch watch(&units_, compute_);
  Step(&watch, 4);
  for (int step = 1; step < DeadUnits::kSteps - 1; ++step) Step(&watch, 2);
  EXPECT_EQ(Report().dead_units_size(), 0) << "nobody can know yet";
  Step(&watch, 2);
  const v1::WorkerReport report = Report();
  ASSERT_EQ(report.dead_units_size(), 3) << "the last layer is linear";
  EXPECT_EQ(report.dead_units(0).bias(), "bottom/0/bias");
  EXPECT_EQ(report.dead_units(0).units(), 6u);
  EXPECT_EQ(report.dead_units(0).dead(), 2u);
  EXPECT_EQ(report.dead_units(2).bias(), "top/0/bias");
  EXPECT_EQ(report.dead_units(2).dead(), 0u);
}

TEST_F(DeadUnitsTest, OfAStageAreThoseOfItsOwnLayers) {
  const uint32_t second = layout_.bottom_weights()[1], top = layout_.top_weights()[0];
  DeadUnits of_stage(layout_, second, top);
  DeadUnits::Watch watch(&of_stage, compute_);
  for (int step = 0; step < DeadUnits::kSteps; ++step) Step(&watch, 2);
  v1::WorkerReport report;
  of_stage.FillReport(&report);
  ASSERT_EQ(report.dead_units_size(), 1);
  EXPECT_EQ(report.dead_units(0).bias(), "bottom/1/bias");
}

TEST_F(DeadUnitsTest, MayComeBack) {
  DeadUnits::Watch watch(&units_, compute_);
  for (int step = 0; step < DeadUnits::kSteps; ++step) Step(&watch, 0);
  EXPECT_EQ(Report().dead_units(0).dead(), 6u);
  for (int step = 0; step < DeadUnits::kSteps; ++step) Step(&watch, step == 7 ? 6 : 0);
  EXPECT_EQ(Report().dead_units(0).dead(), 0u);
}

}  // namespace
}  // namespace weir::worker

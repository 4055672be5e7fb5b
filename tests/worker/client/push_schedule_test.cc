#include "worker/client/push_schedule.h"

#include <gtest/gtest.h>

#include <string>

#include "common/config/defaults.h"
#include "common/device/cpu_device.h"

namespace weir::worker {
namespace {

// Two layers of the bottom MLP, three of the top one, or as many as widths says.
v1::Config WithTopLayers(int count) {
  v1::Config config;
  for (const int32_t width : {64, 8}) config.mutable_model()->add_bottom_widths(width);
  for (int i = 1; i < count; ++i) config.mutable_model()->add_top_widths(16);
  config.mutable_model()->add_top_widths(1);
  config.mutable_model()->set_embedding_dimension(8);
  config.mutable_data()->mutable_synthetic()->set_tables(2);
  return config;
}

class PushScheduleTest : public testing::Test {
 protected:
  PushSchedule& Make(const v1::Config& config, bool is_whole_model = true) {
    config_ = config;
    config::FillDefaults(&config_);
    layout_.emplace(config_, 1);
    encoder_.emplace(config_, *layout_, 0);
    schedule_.emplace(config_, *layout_, layout_->whole(), is_whole_model, device::CpuDevice(),
                      *encoder_);
    return *schedule_;
  }
  PushSchedule& MakeOmgs(int measured_steps) {
    v1::Config config = WithTopLayers(3);
    config.mutable_schedule()->mutable_omgs()->set_measured_steps(measured_steps);
    return Make(config);
  }
  // Parts of the step that begins now, before the last; none: all leaves at once.
  size_t Parts() const {
    const auto plan = schedule_->Begin();
    return plan == nullptr ? 0 : plan->ends.size();
  }
  // Of the step that begins now.
  void End(bool follows_its_kind) {
    MeasuredPush push;
    push.step = {.is_single = schedule_->Begin()->is_single(),
                 .layer_seconds = std::vector<double>(5, 1),
                 .selections = {},
                 .seconds = 5};
    push.follows_its_kind = follows_its_kind;
    EXPECT_TRUE(schedule_->End(std::move(push), nullptr).ok());
  }

  v1::Config config_;
  std::optional<ModelLayout> layout_;
  std::optional<StepEncoder> encoder_;
  std::optional<PushSchedule> schedule_;
};

TEST_F(PushScheduleTest, LooksAtNoTimesUnlessItIsToldTo) {
  v1::Config config = WithTopLayers(3);
  EXPECT_FALSE(Make(config).measures());
  EXPECT_EQ(Parts(), 0u);
  config.mutable_schedule()->mutable_immediate();
  EXPECT_FALSE(Make(config).measures());
  EXPECT_EQ(Parts(), 4u);
}

TEST_F(PushScheduleTest, MeasuresBothKindsOfStepsInTurns) {
  PushSchedule& schedule = MakeOmgs(2);
  ASSERT_TRUE(schedule.measures());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Parts(), 4u) << "warms up";
    End(true);
  }
  for (const size_t parts : {0u, 4u, 0u}) {
    EXPECT_EQ(Parts(), parts);
    End(false);
    EXPECT_EQ(Parts(), parts) << "a step behind one of another kind does not count";
    EXPECT_TRUE(schedule.End(std::nullopt, nullptr).ok());
    EXPECT_EQ(Parts(), parts) << "nor one that was not begun";
    End(true);
  }
}

TEST_F(PushScheduleTest, BeginsAgainWhenThreadsAwaitTheirAnswersNoLonger) {
  PushSchedule& schedule = MakeOmgs(1);
  schedule.SetWaits(true);
  End(true);
  EXPECT_EQ(Parts(), 0u) << "measures";
  schedule.SetWaits(true);
  EXPECT_EQ(Parts(), 0u) << "as before";
  schedule.SetWaits(false);
  EXPECT_EQ(Parts(), 4u) << "warms up";
}

TEST_F(PushScheduleTest, GivesUpWhereNoStepBeginsWithRoomForItsPush) {
  PushSchedule& schedule = MakeOmgs(1);
  for (int i = 0; i <= 100; ++i) {
    EXPECT_TRUE(schedule.measures());
    EXPECT_TRUE(schedule.End(std::nullopt, nullptr).ok());
  }
  EXPECT_FALSE(schedule.measures());
  EXPECT_EQ(Parts(), 4u);
}

TEST_F(PushScheduleTest, LeavesAllTogetherInAStageAndWhereALayerIsAlone) {
  v1::Config config = WithTopLayers(3);
  config.mutable_schedule()->mutable_omgs();
  EXPECT_FALSE(Make(config, /*is_whole_model=*/false).measures());
  EXPECT_EQ(Parts(), 0u);
  config = WithTopLayers(1);
  config.mutable_model()->clear_bottom_widths();
  config.mutable_data()->mutable_libsvm();  // without dense features
  config.mutable_schedule()->mutable_immediate();
  Make(config);
  EXPECT_EQ(Parts(), 0u);
}

}  // namespace
}  // namespace weir::worker

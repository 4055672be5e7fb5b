#include "worker/client/measured_pushes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace weir::worker {
namespace {

using testing::ElementsAre;

std::vector<schedule::Layer> TwoLayers() { return {{0, 100}, {0, 300}}; }

constexpr size_t kLayerBytes[] = {600, 400}, kRowBytes[] = {50, 30};

// Of a step that takes 10 s, of which each layer's backward pass takes one.
MeasuredPush PushOfKind(bool is_single) {
  MeasuredPush push;
  push.step = {.is_single = is_single, .layer_seconds = {1, 1}, .selections = {}, .seconds = 10};
  push.follows_its_kind = true;
  if (!is_single) return push;
  push.layer_bytes = kLayerBytes;
  push.row_bytes = kRowBytes;
  push.agreed_bytes = 200;
  return push;
}

void AddBothKinds(MeasuredPushes* pushes) {
  for (const bool is_single : {true, false}) pushes->Add(PushOfKind(is_single));
}

constexpr schedule::Line kLine{.base_seconds = 0.5, .each_seconds = 0.001};

// 800 bytes of 400 elements; 200 that agree and 80 of rows leave at the end.
TEST(MeasuredPushes, BytesThatAgreeAreNoneOfTheElements) {
  MeasuredPushes pushes(TwoLayers());
  AddBothKinds(&pushes);
  EXPECT_THAT(pushes.LayerBytes(), ElementsAre(600, 400));
  const schedule::Costs costs = pushes.Fit(kLine, schedule::Objective::kStep);
  EXPECT_DOUBLE_EQ(costs.startup_seconds, 0.5);
  EXPECT_DOUBLE_EQ(costs.element_seconds, 0.001 * 800 / 400);
  EXPECT_DOUBLE_EQ(costs.fixed_message_seconds, 0.001 * 280);
  EXPECT_DOUBLE_EQ(costs.forward_seconds, 10 - 1 - (0.5 + 0.8 + 0.28));
}

TEST(MeasuredPushes, ThreadsThatDoNotWaitShareTheConnections) {
  MeasuredPushes pushes(TwoLayers());
  AddBothKinds(&pushes);
  std::jthread([&] { AddBothKinds(&pushes); }).join();
  EXPECT_EQ(pushes.count(), 2u);
  EXPECT_THAT(pushes.LayerBytes(), ElementsAre(600, 400)) << "of one push";
  EXPECT_DOUBLE_EQ(pushes.Fit(kLine, schedule::Objective::kPeriod).startup_seconds, 1);
  EXPECT_DOUBLE_EQ(pushes.Fit(kLine, schedule::Objective::kStep).startup_seconds, 0.5);
}

}  // namespace
}  // namespace weir::worker

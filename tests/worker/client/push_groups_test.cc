#include "worker/client/push_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/config/defaults.h"

namespace weir::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Tensors 0 to 3 are the bottom MLP's, 4 to 9 the top one's: 5 layers.
v1::Config ThreeTopLayers() {
  v1::Config config;
  for (const int32_t width : {64, 8}) config.mutable_model()->add_bottom_widths(width);
  for (const int32_t width : {32, 16, 1}) config.mutable_model()->add_top_widths(width);
  config.mutable_model()->set_embedding_dimension(8);
  config.mutable_data()->mutable_synthetic()->set_tables(2);
  config::FillDefaults(&config);
  return config;
}

TEST(PushGroups, LayersAreInBackwardOrder) {
  const v1::Config config = ThreeTopLayers();
  const ModelLayout layout(config, 1);
  const schedule::Costs costs = LayersOf(layout, layout.whole());
  ASSERT_EQ(costs.layers.size(), 5u);
  EXPECT_EQ(costs.layers[0].element_count, 16 + 1);
  EXPECT_EQ(costs.layers[1].element_count, 32 * 16 + 16);
  EXPECT_EQ(costs.layers[3].element_count, 64 * 8 + 8);
}

TEST(PushGroups, TensorsAreOfTheLayersInThatOrder) {
  const v1::Config config = ThreeTopLayers();
  const ModelLayout layout(config, 1);
  for (const auto& [tensor, layer] : {std::pair{9u, 0u}, {8u, 0u}, {7u, 1u}, {1u, 4u}, {0u, 4u}}) {
    EXPECT_EQ(BackwardIndex(layout.whole(), tensor), layer) << tensor;
  }
}

TEST(PushGroups, APlanKnowsTheElementsOfItsPushes) {
  const v1::Config config = ThreeTopLayers();
  const ModelLayout layout(config, 1);
  const schedule::Costs costs = LayersOf(layout, layout.whole());
  const PartPlan plan = MakePartPlan(layout.whole(), costs, {2, 3});
  EXPECT_THAT(plan.ends, ElementsAre(6));
  EXPECT_EQ(plan.element_counts[0], 17 + 32 * 16 + 16);
  EXPECT_EQ(plan.element_counts[0] + plan.element_counts[1], layout.dense_element_count());
  EXPECT_FALSE(plan.is_single());
  EXPECT_TRUE(MakePartPlan(layout.whole(), costs, {5}).is_single());
}

TEST(PushGroups, PartsEndWhereGroupsDoButForTheLast) {
  const v1::Config config = ThreeTopLayers();
  const ModelLayout layout(config, 1);
  EXPECT_THAT(PartEnds(layout.whole(), {1, 1, 1, 1, 1}), ElementsAre(8, 6, 4, 2));
  EXPECT_THAT(PartEnds(layout.whole(), {2, 3}), ElementsAre(6));
  EXPECT_THAT(PartEnds(layout.whole(), {5}), IsEmpty());
}

TEST(PushGroups, FollowTheSchedule) {
  v1::Config config = ThreeTopLayers();
  const ModelLayout layout(config, 1);
  const schedule::Costs costs = LayersOf(layout, layout.whole());
  EXPECT_THAT(GroupsOf(config.schedule(), costs), ElementsAre(5));
  config.mutable_schedule()->mutable_immediate();
  EXPECT_THAT(GroupsOf(config.schedule(), costs), ElementsAre(1, 1, 1, 1, 1));
  config.mutable_schedule()->mutable_by_bytes()->set_bytes(4 * 500);
  EXPECT_THAT(GroupsOf(config.schedule(), costs), ElementsAre(2, 2, 1));
}

}  // namespace
}  // namespace weir::worker

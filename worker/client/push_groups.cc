#include "worker/client/push_groups.h"

#include "common/schedule/schedules.h"

namespace weir::worker {
namespace {

constexpr uint32_t kTensorsOfLayer = 2;  // its weight, and its bias behind it

}  // namespace

schedule::Costs LayersOf(const ModelLayout& layout, const StageSpec& stage) {
  schedule::Costs costs;
  for (uint32_t end = stage.end_tensor; end > stage.first_tensor; end -= kTensorsOfLayer) {
    int64_t element_count = 0;
    for (uint32_t tensor = end - kTensorsOfLayer; tensor < end; ++tensor) {
      element_count += layout.tensors()[tensor].element_count();
    }
    costs.layers.push_back({.backward_seconds = 0, .element_count = element_count});
  }
  return costs;
}

size_t BackwardIndex(const StageSpec& stage, uint32_t tensor) {
  return (stage.end_tensor - 1 - tensor) / kTensorsOfLayer;
}

std::vector<uint32_t> PartEnds(const StageSpec& stage, const schedule::Groups& groups) {
  std::vector<uint32_t> ends;
  uint32_t end = stage.end_tensor;
  for (const int layer_count : groups) {
    end -= kTensorsOfLayer * static_cast<uint32_t>(layer_count);
    ends.push_back(end);
  }
  if (!ends.empty()) ends.pop_back();
  return ends;
}

PartPlan MakePartPlan(const StageSpec& stage, const schedule::Costs& layers,
                      const schedule::Groups& groups) {
  PartPlan plan{.ends = PartEnds(stage, groups), .element_counts = {}};
  auto layer = layers.layers.begin();
  for (const int layer_count : groups) {
    int64_t element_count = 0;
    for (int i = 0; i < layer_count; ++i) element_count += (layer++)->element_count;
    plan.element_counts.push_back(element_count);
  }
  return plan;
}

schedule::Groups GroupsOf(const v1::ScheduleConfig& schedule, const schedule::Costs& layers) {
  if (schedule.has_immediate()) return schedule::Immediate(layers);
  if (schedule.has_by_bytes()) return schedule::ByBytes(layers, schedule.by_bytes().bytes());
  return schedule::Single(layers);
}

}  // namespace weir::worker

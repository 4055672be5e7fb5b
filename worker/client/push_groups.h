// Which tensors leave together while others are computed: the schedule of a config, laid out.
//
// Place in the life of a batch: backward -> **group** -> select -> encode -> push.
// Thread rule: immutable after construction, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/schedule/push_times.h"

namespace weir::worker {

// A stage's layers, weight and bias together, in backward order; without times.
schedule::Costs LayersOf(const ModelLayout& layout, const StageSpec& stage);

// Which of them a tensor is of.
size_t BackwardIndex(const StageSpec& stage, uint32_t tensor);

// Where parts end: the first tensor of each group, in backward order, but the last group's, which
// leaves with the push itself. groups: of the stage's layers.
std::vector<uint32_t> PartEnds(const StageSpec& stage, const schedule::Groups& groups);

// How a step leaves.
struct PartPlan {
  bool is_single() const { return ends.empty(); }

  std::vector<uint32_t> ends;           // PartEnds
  std::vector<int64_t> element_counts;  // of each push, the last one too
};

PartPlan MakePartPlan(const StageSpec& stage, const schedule::Costs& layers,
                      const schedule::Groups& groups);

// Of a schedule that looks at no times.
schedule::Groups GroupsOf(const v1::ScheduleConfig& schedule, const schedule::Costs& layers);

}  // namespace weir::worker

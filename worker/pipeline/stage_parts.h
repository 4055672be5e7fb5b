// What a stage works with, beside the model.
//
// Place in the life of a batch: none.
// Thread rule: immutable. Borrows everything.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/clock.h"
#include "worker/client/parameter_client.h"
#include "worker/data/reader.h"
#include "worker/pipeline/pipeline_views.h"
#include "worker/pipeline/stage_links.h"

namespace weir::worker {

struct StageParts {
  uint32_t trainer = 0;
  uint32_t stage = 0;
  ParameterClient* client = nullptr;
  StageLinks* links = nullptr;
  PipelineViews* views = nullptr;
  data::Reader* reader = nullptr;  // of the later stages; the first is given chunks
  // To the coordinator: a generation was adopted (awaited_next: the next stage had batches of those
  // before it that had not come back), or its batches were lost.
  std::function<void(uint64_t generation, bool awaited_next)> tell_adopted;
  std::function<void(uint64_t generation)> tell_lost;
  const Clock* clock = &Clock::Real();  // of how long the first stage waits
};

}  // namespace weir::worker

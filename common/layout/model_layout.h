// All that processes must agree on of a model (hello compares hashes of what it follows from): its
// shape, how it is cut into stages, and who serves which part. Whoever needs one of the three takes
// that.
//
// Place in the life of a batch: none; it is the map that every other part reads.
// Thread rule: immutable after construction, any thread.
#pragma once

#include <cstdint>

#include "common/layout/model_shape.h"
#include "common/layout/placement.h"
#include "common/layout/stage_cut.h"
#include "common/proto/config.pb.h"

namespace weir {

class ModelLayout : public ModelShape, public StageCut, public Placement {
 public:
  // config: with defaults filled in and valid. server_count >= 1.
  ModelLayout(const v1::Config& config, uint32_t server_count)
      : ModelShape(config),
        StageCut(static_cast<const ModelShape&>(*this), config.pipeline()),
        Placement(static_cast<const ModelShape&>(*this), server_count) {}
};

}  // namespace weir

// How a model is cut into stages (pipeline.split), each a process's own where there are several.
//
// Place in the life of a batch: none; see model_shape.h.
// Thread rule: immutable after construction, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/layout/model_shape.h"
#include "common/proto/config.pb.h"

namespace weir {

// Layers [begin, end) of an MLP.
struct LayerRange {
  size_t begin = 0, end = 0;

  size_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
};

// A part of the model between two splits (pipeline.split), or all of it.
struct StageSpec {
  LayerRange bottom, top;
  bool has_interaction = false;  // between the two
  int64_t input_width = 0;       // of what the stage before gives; dense features of the first
  int64_t output_width = 0;      // 1, the logit, of the last
  // Tensors [first, end) are this stage's.
  uint32_t first_tensor = 0, end_tensor = 0;

  // Whether it begins with the dense features.
  bool reads_dense() const { return first_tensor == 0 && !bottom.empty(); }
};

class StageCut {
 public:
  StageCut(const ModelShape& shape, const v1::PipelineConfig& pipeline);

  // What the config says of the splits between stages.
  const v1::PipelineConfig& pipeline() const { return pipeline_; }
  // At least one, in the order of forward; one more than splits.
  std::span<const StageSpec> stages() const { return stages_; }
  // All of them in one.
  const StageSpec& whole() const { return whole_; }
  // A worker's; nothing: it has the whole model.
  const StageSpec& stage_of(std::optional<uint32_t> worker) const {
    return worker ? stages_[*worker] : whole_;
  }

  uint32_t StageOfTensor(uint32_t tensor) const;
  // That with the interaction, which reads and moves the rows of tables.
  uint32_t row_stage() const;

 private:
  v1::PipelineConfig pipeline_;
  std::vector<StageSpec> stages_;
  StageSpec whole_;
};

}  // namespace weir

// What lies between a batch's backward pass and the next batch, alike for the whole model and for a
// stage of it: the buffers of its gradients, clipping, the push, and what is counted.
//
// Place in the life of a batch: **backward** -> clip -> **push** -> counted.
// Thread rule: one for each Hogwild thread. Borrows its parts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/compress/square_sums.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/tensor/aligned_buffer.h"
#include "worker/client/parameter_client.h"
#include "worker/model/stage.h"
#include "worker/step/chunk_work.h"
#include "worker/step/clipped_squares.h"
#include "worker/step/dead_units.h"
#include "worker/step/train_counters.h"

namespace weir::worker {

class StepFinisher {
 public:
  struct Parts {
    const v1::UpdateConfig& update;
    const ModelLayout& layout;
    ParameterClient* client;
    DeadUnits* dead_units;
    TrainCounters* counters;
  };
  explicit StepFinisher(const Parts& parts);

  // Where backward passes of this thread add up the squares of dense tensors.
  compress::SquareSumsOfTensors square_sums();

  // Room for a batch's embedding rows, [unique, dimension], and for its gradients. Good until the
  // next batch's; what is in them has no meaning.
  std::span<float> Rows(size_t element_count);
  model::GradientBuffers Gradients(size_t row_element_count);

  // Pushes what is in the gradients. step: with its batch, and whatever else the push needs. chunk:
  // whose rows these are; null in stages that have none. Returns the number of the push.
  Result<uint64_t> Finish(StepGradients step, double logloss_sum, ChunkWork* chunk,
                          const ChunkWork::BatchRange& range);

 private:
  void Clip(int64_t row_count);

  const Parts parts_;
  const size_t dimension_;
  std::optional<ClippedSquares> clipped_squares_;  // where gradients are clipped
  DeadUnits::Watch dead_units_;
  tensor::AlignedBuffer dense_;  // flat
  tensor::AlignedBuffer rows_, row_gradients_;
  std::span<float> used_row_gradients_;  // by the batch at hand
  const bool needs_row_squares_;
  std::vector<float> row_squares_;  // of the batch, [unique]; empty where no policy asks
};

}  // namespace weir::worker

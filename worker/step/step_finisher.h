// What lies between a batch's backward pass and the next batch, alike for the whole model and for a
// stage of it: the buffers of its rows and gradients, clipping, the push, and what is counted.
//
// Place in the life of a batch: **rows** -> forward, **backward** -> clip -> **push** -> counted.
// Thread rule: one for each Hogwild thread, always with the same stream. Borrows its parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "common/base/status.h"
#include "common/base/timed.h"
#include "common/compress/square_sums.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "worker/client/parameter_client.h"
#include "worker/model/stage.h"
#include "worker/step/chunk_work.h"
#include "worker/step/clipped_squares.h"
#include "worker/step/dead_units.h"
#include "worker/step/step_rows.h"
#include "worker/step/train_counters.h"

namespace weir::worker {

class StepFinisher {
 public:
  struct Parts {
    const v1::UpdateConfig& update;
    const ModelLayout& layout;
    const kernels::Compute& compute;
    device::Stream& stream;
    ParameterClient* client;
    DeadUnits* dead_units;
    TrainCounters* counters;
  };
  explicit StepFinisher(const Parts& parts);

  // Where backward passes of this thread add up the squares of dense tensors.
  compress::SquareSumsOfTensors square_sums();

  // Of this thread's batches.
  StepRows& rows() { return rows_; }

  // Room for a batch's gradients, good until the next one's.
  model::GradientBuffers Gradients(size_t row_element_count);
  // Whether that leaves what the host has of the batch before where it is.
  bool HasRoom(size_t row_element_count) const {
    return row_gradients_.size() >= row_element_count &&
           (!needs_row_squares_ || row_squares_.size() >= row_element_count / dimension_);
  }

  // Before the backward pass that fills them: who is to hear of each layer; null: nobody.
  model::GradientListener* Begin(const StepGradients& step);
  // Seconds of backward passes that the listener took, since this was asked for the last time.
  double TakeListenedSeconds() { return std::exchange(listener_.seconds, 0); }

  // Pushes what is in the gradients. step: with its batch, and whatever else the push needs. chunk:
  // whose rows these are; null in stages that have none. Returns the number of the push.
  // await_loss: the sum of the logloss, once all is enqueued that it need not be known for.
  using AwaitLoss = std::function<Result<double>()>;
  Result<uint64_t> Finish(StepGradients step, const AwaitLoss& await_loss, ChunkWork* chunk,
                          const ChunkWork::BatchRange& range);

 private:
  // With what a push needs of this thread, but for rows.
  StepGradients WithDense(StepGradients step) const;
  void Clip(int64_t row_count);
  void ClipDense(double limit, bool has_squares);
  // What the host is to have of rows, once the stream is waited for.
  void DownloadRows(StepGradients* step);
  // Of a buffer as much as is used; all where a device repeats what it does, so that it is the
  // same.
  device::Span<float> Used(const device::Mirror<float>& buffer, size_t count) const;

  // Tells the client's push.
  struct Listener final : model::GradientListener {
    void OnTensors(device::Stream&, uint32_t begin, uint32_t end) override {
      const Timed timed(&seconds);
      push->OnTensors(begin, end);
    }
    void OnRows(device::Stream&) override {}
    std::unique_ptr<BegunPush> push;
    double seconds = 0;
  };

  const Parts parts_;
  const kernels::Compute compute_;
  const size_t dimension_;
  const std::unique_ptr<PushScratch> push_scratch_;
  std::optional<ClippedSquares> clipped_squares_;  // where gradients are clipped
  DeadUnits::Watch dead_units_;
  device::Buffer<float> dense_;   // flat
  device::Buffer<float> factor_;  // [1], of the last clipping
  Listener listener_;             // of the step at hand
  StepRows rows_;
  device::Mirror<float> row_gradients_;
  size_t used_row_gradients_ = 0;  // elements, by the batch at hand
  const bool needs_row_squares_;
  device::Mirror<float> row_squares_;  // [unique]; empty where no policy asks
  size_t used_row_squares_ = 0;
};

}  // namespace weir::worker
